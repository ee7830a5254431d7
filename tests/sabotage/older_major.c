/* Built for the previous major version: exports only that version's symbol. */
__attribute__((visibility("default"))) const unsigned ab_plugin_v1[64] = {0x41424c54u, 1, 3};
