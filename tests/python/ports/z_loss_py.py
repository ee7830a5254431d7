import ablate as ab


@ab.head(doc="twin of z_loss", weight=ab.real(1e-4, 0, 10, "factor of the mean of log(Z)^2"))
class z_loss_py:
    def losses(c, x, logits, target, weight):
        mask = c.row_mask()
        largest = logits.max(-1).detach()
        log_sum = (logits - largest).exp().sum(-1).log() + largest
        c.add_loss("z", (log_sum.square() * mask).sum(-2) / mask.sum(-2), weight)
