import ablate as ab


@ab.norm(doc="twin of rms_norm", eps=ab.real(1e-6, 1e-12, 0.1, "added to the mean square [square]"))
def rms_norm_py(c, x, eps):
    scale = (x.square().mean(-1) + eps).sqrt().recip()
    return x * scale * c.weight_full("g", 1, c.info.d_model)
