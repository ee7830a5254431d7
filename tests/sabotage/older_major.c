/* Speaks a version before the first one. */
__attribute__((visibility("default"))) const unsigned ab_plugin_v0[64] = {0x41424c54u, 0, 0};
