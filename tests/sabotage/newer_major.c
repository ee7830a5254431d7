/* A plugin built for the next major version: it exports only the symbol of that version. */
__attribute__((visibility("default"))) const unsigned ab_plugin_v3[64] = {0x41424c54u, 3, 0};
