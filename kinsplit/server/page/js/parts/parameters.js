// Form fields for the parameters of a strategy, from GET /strategies.

import { choice, el, line, number, tick } from "../dom.js";

/** Return the fields of a strategy. */
export function parameterFields(strategy) {
  return el(
    "div",
    { class: "fields" },
    strategy.parameters.filter(({ settable }) => settable).map((parameter) => fieldOf(parameter)),
  );
}

/** Return the values that differ from the defaults. */
export function filledIn(strategy, form) {
  const values = {};
  for (const parameter of strategy.parameters) {
    const input = form.elements[`p.${parameter.name}`];
    if (!input) continue;
    const value = valueOf(parameter, input);
    if (JSON.stringify(value) !== JSON.stringify(parameter.default)) values[parameter.name] = value;
  }
  return values;
}

const kindsOf = ({ type }) => type.split(" | ");
const isNumber = (kind) => kind === "int" || kind === "float";

function fieldOf(parameter) {
  const { name, default: usual, description } = parameter;
  const [key, kinds] = [`p.${name}`, kindsOf(parameter)];
  if (kinds.includes("bool")) return tick(name, key, usual, description);
  if (kinds.some(isNumber)) {
    const step = kinds.includes("float") ? "any" : 1;
    return number(name, key, usual, { step, placeholder: usual === null ? "none" : String(usual), hint: description });
  }
  if (kinds.length > 1 && !kinds.includes("str")) return choice(name, key, kinds, usual, description);
  return line(name, key, Array.isArray(usual) ? usual.join(", ") : usual, { hint: description });
}

function valueOf(parameter, input) {
  const { default: usual } = parameter;
  if (input.type === "checkbox") return input.checked;
  const written = input.value.trim();
  if (input.type === "number") return written === "" ? usual : Number(written);
  if (Array.isArray(usual)) return written.split(/[\s,]+/).filter(Boolean).map(Number);
  return written === "" ? usual : written;
}
