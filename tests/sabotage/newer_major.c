/* Built for the next major version: exports only that version's symbol. */
__attribute__((visibility("default"))) const unsigned ab_plugin_v3[64] = {0x41424c54u, 3, 0};
