// Labelled form fields.

import { el, freshId } from "../dom.js";

/** A select field. */
export function choice(label, name, options, value, hint) {
  const rows = options.map((option) => (typeof option === "string" ? { value: option, label: option } : option));
  const select = el(
    "select",
    { name },
    rows.map((row) => el("option", { value: row.value }, row.label)),
  );
  if (rows.some((row) => row.value === value)) select.value = value;
  return labelled(label, select, hint);
}

/** A number field; it may be empty. */
export function number(label, name, value, { min, max, step = 1, placeholder = "", hint } = {}) {
  const input = el("input", { type: "number", name, value: value ?? "", min, max, step, placeholder, inputmode: "decimal" });
  return labelled(label, input, hint);
}

/** A text field. */
export function line(label, name, value, { placeholder = "", hint } = {}) {
  const input = el("input", { type: "text", name, value: value ?? "", placeholder, autocomplete: "off", dir: "auto" });
  return labelled(label, input, hint);
}

/** A checkbox. */
export function tick(label, name, checked, hint) {
  const field = labelled(label, el("input", { type: "checkbox", name, checked }), hint);
  field.classList.add("tick");
  return field;
}

function labelled(label, input, hint) {
  input.id = freshId("field");
  const about = hint && el("p", { class: "hint", id: `${input.id}-hint` }, hint);
  if (about) input.setAttribute("aria-describedby", about.id);
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input, about);
}
