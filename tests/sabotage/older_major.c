/* A plugin built for the previous major version: it exports only the symbol of that version. */
__attribute__((visibility("default"))) const unsigned ab_plugin_v1[64] = {0x41424c54u, 1, 3};
