/* Speaks the next major version: exports that version's symbol only. */
__attribute__((visibility("default"))) const unsigned ab_plugin_v2[64] = {0x41424c54u, 2, 0};
