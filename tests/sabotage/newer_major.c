/* Speaks the next major version: exports that version's symbol only. */
__attribute__((visibility("default"))) const unsigned ab_plugin_v3[64] = {0x41424c54u, 3, 0};
