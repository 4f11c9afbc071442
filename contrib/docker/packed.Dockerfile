# The image of an archive that docs/releasing.md makes, without a compiler:
#   docker build -f contrib/docker/packed.Dockerfile --build-arg ARCHIVE=esker-0.1.0-x86_64-linux.tar.gz -t esker dist
# The context is the folder with the archive and SHA256SUMS. buildah and podman need `--format docker` as well.
FROM busybox:1.37-musl AS tools
ARG ARCHIVE
COPY ${ARCHIVE} SHA256SUMS /in/
RUN cd /in \
    && grep -F "  ${ARCHIVE}" SHA256SUMS | sha256sum -c \
    && mkdir /out \
    && tar -xzf "${ARCHIVE}" -C /out --strip-components=1 \
    && test -x /out/esker \
    && install -d -m 0700 -o 65532 -g 65532 /out/data

# Its glibc is that of Debian 12, 2.36: the binary must need none that is newer (docs/install.md).
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=tools /bin/busybox /usr/bin/wget
COPY --from=tools /out/esker /usr/bin/esker
COPY --from=tools --chown=65532:65532 /out/data /data
# Anyone who can reach the container can reach the node: publish the port on 127.0.0.1 unless it should be public.
ENV ESKER_HTTP_HOST=0.0.0.0 ESKER_DATA_DIR=/data
USER 65532:65532
VOLUME /data
EXPOSE 9650
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["/usr/bin/wget", "-q", "-O", "/dev/null", "http://127.0.0.1:9650/ext/health/liveness"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/esker"]
CMD ["node", "--network", "local"]
