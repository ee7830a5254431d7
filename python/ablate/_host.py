"""The host's functions with plain arguments. Made by python/generate.py from core/api/ab_host.h: do not edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ablate._tensor import Tensor


class HostFunctions:
    """Methods that a plugin calls while its graph is traced."""

    def _call(self, name: str, *arguments: Any) -> Tensor:
        raise NotImplementedError

    def _call_none(self, name: str, *arguments: Any) -> None:
        raise NotImplementedError

    def _axis(self, name: str, axis: int) -> int:
        raise NotImplementedError

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """Add a and b, with broadcasting over axes of length 1.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("add", a, b)

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        """Subtract b from a, with broadcasting over axes of length 1.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("sub", a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        """Multiply a and b, with broadcasting over axes of length 1.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("mul", a, b)

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        """Divide a by b, with broadcasting over axes of length 1.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("div", a, b)

    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        """The smaller; ties give the gradient to a.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("minimum", a, b)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        """The larger; ties give the gradient to a.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("maximum", a, b)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """a where condition (0 or 1) is 1, else b; the other one has no influence, even if
        it is not finite.

        Parameters
        ----------
        condition : Tensor
            A tensor, as above.
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("where", condition, a, b)

    def less_than(self, a: Tensor, b: Tensor) -> Tensor:
        """a < b as 0 or 1; no gradient.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("less_than", a, b)

    def mul_scalar(self, a: Tensor, by: float) -> Tensor:
        """Multiply a by a number.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        by : float
            A number, or places.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("mul_scalar", a, by)

    def add_scalar(self, a: Tensor, by: float) -> Tensor:
        """Add a number to a.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        by : float
            A number, or places.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("add_scalar", a, by)

    def gelu(self, a: Tensor) -> Tensor:
        """a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))).

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("gelu", a)

    def silu(self, a: Tensor) -> Tensor:
        """a sigmoid(a).

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("silu", a)

    def softplus(self, a: Tensor) -> Tensor:
        """log(1 + exp(a)).

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("softplus", a)

    def sum(self, a: Tensor, axis: int) -> Tensor:
        """The axis remains, with length 1.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        axis : int
            Axis, -1 is the last.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("sum", a, self._axis("sum", axis))

    def cumsum(self, a: Tensor) -> Tensor:
        """Running sums along axis -2.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("cumsum", a)

    def softmax(self, s: Tensor) -> Tensor:
        """Over the last axis; -inf has weight 0.

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("softmax", s)

    def matmul(
        self,
        a: Tensor,
        b: Tensor,
        ta: bool = False,
        tb: bool = False,
    ) -> Tensor:
        """Multiply matrices, the last two axes; the others broadcast.

        ta, tb: transpose a, b first.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.
        ta : bool, optional
            Whether to transpose a.
        tb : bool, optional
            Whether to transpose b.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("matmul", a, b, ta, tb)

    def transpose(self, a: Tensor, axis1: int, axis2: int) -> Tensor:
        """Swap two axes.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        axis1 : int
            Axis, -1 is the last.
        axis2 : int
            Axis, -1 is the last.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("transpose", a, self._axis("transpose", axis1), self._axis("transpose", axis2))

    def slice(self, a: Tensor, axis: int, from_: int, n: int) -> Tensor:
        """Keep n indices of an axis, starting at `from_`.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        axis : int
            Axis, -1 is the last.
        from_ : int
            First index, or first position.
        n : int
            Number of rows, columns or ids.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("slice", a, self._axis("slice", axis), from_, n)

    def concat(self, a: Tensor, b: Tensor, axis: int) -> Tensor:
        """Join a and b along an axis.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.
        axis : int
            Axis, -1 is the last.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("concat", a, b, self._axis("concat", axis))

    def detach(self, a: Tensor) -> Tensor:
        """Equal values, no gradient.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("detach", a)

    def rotate_half(self, a: Tensor) -> Tensor:
        """(x1,x2) -> (-x2,x1), halves of the last axis.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("rotate_half", a)

    def embedding(self, table: Tensor, ids: Tensor) -> Tensor:
        """[n,d],[T] -> [T,d].

        Parameters
        ----------
        table : Tensor
            A tensor, as above.
        ids : Tensor
            Ids, as a tensor.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("embedding", table, ids)

    def to_float(self, ids: Tensor) -> Tensor:
        """Ids as numbers.

        Parameters
        ----------
        ids : Tensor
            Ids, as a tensor.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("to_float", ids)

    def outer(self, a: Tensor, b: Tensor) -> Tensor:
        """[T],[n] -> [T,n].

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("outer", a, b)

    def relative_position(self, qpos: Tensor, kpos: Tensor) -> Tensor:
        """k - q as numbers [Tq,Tk].

        Parameters
        ----------
        qpos : Tensor
            A tensor, as above.
        kpos : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("relative_position", qpos, kpos)

    def clipped_relative_position(
        self,
        qpos: Tensor,
        kpos: Tensor,
        clip: int,
    ) -> Tensor:
        """Ids [Tq,Tk]: clamp(k - q, -clip, clip) + clip.

        Parameters
        ----------
        qpos : Tensor
            A tensor, as above.
        kpos : Tensor
            A tensor, as above.
        clip : int
            A number, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("clipped_relative_position", qpos, kpos, clip)

    def gather(self, x: Tensor, ids: Tensor) -> Tensor:
        """[..,Tq,n],[Tq,Tk] -> [..,Tq,Tk]; or ids [..,Tq,Tk].

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        ids : Tensor
            Ids, as a tensor.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("gather", x, ids)

    def scatter_add(self, p: Tensor, ids: Tensor, n: int) -> Tensor:
        """Adjoint of gather: [..,Tq,Tk] -> [..,Tq,n].

        Parameters
        ----------
        p : Tensor
            Probability, or weights.
        ids : Tensor
            Ids, as a tensor.
        n : int
            Number of rows, columns or ids.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("scatter_add", p, ids, n)

    def linear(self, x: Tensor, name: str, width: int, bias: bool = True) -> Tensor:
        """Map [..,n] to [..,width] by a learned matrix `name`, initially Glorot uniform.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        name : str
            Name of the learned or recorded value, below the layer.
        width : int
            Columns of the result.
        bias : bool, optional
            Whether to add a learned bias.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("linear", x, name, width, bias)

    def linear_relu(
        self,
        x: Tensor,
        name: str,
        width: int,
        bias: bool = True,
    ) -> Tensor:
        """max(0, linear) in one operation.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        name : str
            Name of the learned or recorded value, below the layer.
        width : int
            Columns of the result.
        bias : bool, optional
            Whether to add a learned bias.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("linear_relu", x, name, width, bias)

    def layer_norm(
        self,
        x: Tensor,
        gain: Tensor,
        bias: bool = True,
        eps: float = 1e-6,
    ) -> Tensor:
        """(x - mean) / sqrt(variance + eps) gain + bias over the last axis; gain and bias
        [d].

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        gain : Tensor
            Gain [d].
        bias : bool, optional
            Whether to add a learned bias.
        eps : float, optional
            Added before the square root.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("layer_norm", x, gain, bias, eps)

    def add_layer_norm(
        self,
        x: Tensor,
        s: Tensor,
        gain: Tensor,
        bias: bool = True,
        eps: float = 1e-6,
    ) -> Tensor:
        """Layer norm of x + dropout(s).

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.
        gain : Tensor
            Gain [d].
        bias : bool, optional
            Whether to add a learned bias.
        eps : float, optional
            Added before the square root.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("add_layer_norm", x, s, gain, bias, eps)

    def self_attention(self, x: Tensor) -> Tensor:
        """Call the row's self-attention, with learned values below "self".

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("self_attention", x)

    def cross_attention(self, x: Tensor) -> Tensor:
        """Attend to the encoder's output, if info.cross, with learned values below
        "cross".

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("cross_attention", x)

    def feed_forward(self, x: Tensor, name: str) -> Tensor:
        """Call the row's feed-forward, if info.feed_forward, with learned values below
        `name`.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        name : str
            Name of the learned or recorded value, below the layer.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("feed_forward", x, name)

    def normalize(self, x: Tensor, name: str) -> Tensor:
        """Call the row's norm, with learned values below `name`.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        name : str
            Name of the learned or recorded value, below the layer.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("normalize", x, name)

    def add_normalize(self, x: Tensor, s: Tensor, name: str) -> Tensor:
        """norm(x + dropout(s)), one operation if the norm has `add`.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.
        name : str
            Name of the learned or recorded value, below the layer.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("add_normalize", x, s, name)

    def add_dropout(self, x: Tensor, s: Tensor) -> Tensor:
        """x + dropout(s).

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("add_dropout", x, s)

    def assign(self, to: Tensor, value: Tensor) -> None:
        """Set p or a slot to this value after the update.

        Parameters
        ----------
        to : Tensor
            End of the window, or what is set.
        value : Tensor
            Value.
        """
        self._call_none("assign", to, value)

    def scores(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """Scale q.k + position + mask: [B,H,Tq,Tk].

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d].
        k : Tensor
            Keys [B,H,Tk,d].
        scale : float
            Factor of the scores.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("scores", q, k, scale)

    def mask(self, s: Tensor) -> Tensor:
        """-inf for invisible keys (future, padding).

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("mask", s)

    def position(self, s: Tensor, q: Tensor, k: Tensor) -> Tensor:
        """Only the position hooks bias and scores, no mask.

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.
        q : Tensor
            Queries [B,H,Tq,d].
        k : Tensor
            Keys [B,H,Tk,d].

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("position", s, q, k)

    def weighted_sum(self, p: Tensor, v: Tensor) -> Tensor:
        """p.v, with the position's contribution to values.

        Parameters
        ----------
        p : Tensor
            Probability, or weights.
        v : Tensor
            Values [B,H,Tk,d].

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("weighted_sum", p, v)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        """softmax(scores).v, as one fused operation if possible.

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d].
        k : Tensor
            Keys [B,H,Tk,d].
        v : Tensor
            Values [B,H,Tk,d].
        scale : float
            Factor of the scores.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("attend", q, k, v, scale)

    def causal_kv_sum(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Q_t .

        sum over visible j of k_j v_j^T: [B,H,Tq,dv], from key_step, value_step:
        decoding carries the sum.

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d].
        k : Tensor
            Keys [B,H,Tk,d].
        v : Tensor
            Values [B,H,Tk,d].

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("causal_kv_sum", q, k, v)

    def output(self, y: Tensor) -> Tensor:
        """[B,H,T,d_v] -> rows [rows,d_model]: merge heads, linear.

        From 2.6 on also rows [rows, H d_v], as merge returns.

        Parameters
        ----------
        y : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("output", y)

    def heads(self, rows: Tensor, heads: int) -> Tensor:
        """Rows [rows, heads d] made from x or mem -> [B,heads,T,d].

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        heads : int
            Number of heads.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("heads", rows, heads)

    def rotate(self, x: Tensor) -> Tensor:
        """The position's rotation of queries or keys (self-attention).

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("rotate", x)

    def remember(self, x: Tensor) -> Tensor:
        """Keys, values or similar [B,n,T,d], with equal n and d in every step: returns x.

        In decoding x is this step's [B,n,1,d], and the result is [B,n,Tk,d], as long as
        kpos: all steps so far, then zeros, which mask hides. Call order identifies a
        cache.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("remember", x)

    def merge(self, y: Tensor) -> Tensor:
        """[B,n,Tq,d] -> rows [rows, n d] of the query side.

        Parameters
        ----------
        y : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("merge", y)

    def pad(self, rows: Tensor) -> Tensor:
        """Rows [rows,n] -> [1,B,T,n], zeros at padding; rows made from x or from mem, not
        from both.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("pad", rows)

    def pack(self, x: Tensor) -> Tensor:
        """[1,B,T,n] -> rows [rows,n] of the query side.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("pack", x)

    def qpos(self) -> Tensor:
        """Positions of the queries: ids [Tq].

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("qpos")

    def kpos(self) -> Tensor:
        """Positions of the keys: ids [Tk].

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("kpos")

    def klen(self) -> Tensor:
        """Visible keys per sentence, as numbers [B,1,1,1].

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("klen")

    def gru(
        self,
        x: Tensor,
        in_: str,
        u: str,
        d: int,
        backwards: bool = False,
    ) -> Tensor:
        """Rows [rows,d], the states of a gated recurrent unit: z, r = sigmoid(a + u), m =
        tanh(a + r u), h' = (1 - z) m + z h, where a = x W + b is the linear named `in`,
        u = h U, both with columns z, r, m; U [d,3d] is named `u` and uniform in
        1/sqrt(d).

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        in_ : str
            Name of the linear of the inputs.
        u : str
            Name of the recurrent matrix.
        d : int
            Width of the state.
        backwards : bool, optional
            Whether to run from the end.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("gru", x, in_, u, d, backwards)

    def conv(
        self,
        x: Tensor,
        name: str,
        width: int,
        before: int,
        behind: int,
    ) -> Tensor:
        """Rows [rows,width], a convolution: y_t = b + sum over j = -before .

        behind of x_{t+j} W_j, zeros around the sentence. W and b are the linear named
        `name` with (before + 1 + behind) n inputs, oldest position first.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        name : str
            Name of the learned or recorded value, below the layer.
        width : int
            Columns of the result.
        before : int
            Positions before.
        behind : int
            Positions behind.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("conv", x, name, width, before, behind)

    def max(self, a: Tensor, axis: int) -> Tensor:
        """The axis remains, with length 1.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        axis : int
            Axis, -1 is the last.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("max", a, self._axis("max", axis))

    def to_ids(self, a: Tensor) -> Tensor:
        """The nearest integers as ids; no gradient.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("to_ids", a)

    def one_hot(self, ids: Tensor, n: int) -> Tensor:
        """[..,T] -> [..,T,n]: 1 at the id, else 0.

        Parameters
        ----------
        ids : Tensor
            Ids, as a tensor.
        n : int
            Number of rows, columns or ids.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("one_hot", ids, n)

    def scatter_rows(self, rows: Tensor, ids: Tensor, n: int) -> Tensor:
        """Adjoint of embedding: [T,d],[T] -> [n,d], rows summed by id.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        ids : Tensor
            Ids, as a tensor.
        n : int
            Number of rows, columns or ids.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("scatter_rows", rows, ids, n)

    def tokens(self) -> Tensor:
        """Ids [rows]; in a decoder, the token before each target.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("tokens")

    def row_mask(self) -> Tensor:
        """[rows,1]: 1 for a row with a token, 0 for a padding row.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("row_mask")

    def add_loss(self, name: str, value: Tensor, weight: float) -> None:
        """Values recorded in training besides the loss, as curves named PLUGIN.name: one
        number per call, averaged over calls (layers) with the same name.

        add_loss also adds weight times value, a mean over tokens, to the loss. From 2.6
        on log takes a vector [n] too, of at most AB_LOG_MOST numbers: curves
        PLUGIN.name[0] to [n-1]. No effect outside training.

        Parameters
        ----------
        name : str
            Name of the learned or recorded value, below the layer.
        value : Tensor
            Value.
        weight : float
            Factor in the loss.
        """
        self._call_none("add_loss", name, value, weight)

    def share(self, name: str, x: Tensor) -> None:
        """Share x under this name with later layers of this stack.

        Parameters
        ----------
        name : str
            Name of the learned or recorded value, below the layer.
        x : Tensor
            Rows or a tensor, as above.
        """
        self._call_none("share", name, x)

    def shared(self, name: str) -> Tensor:
        """Return the last value that the same plugin in the same place (self, cross, ffn)
        of an earlier layer shared under this name.

        Parameters
        ----------
        name : str
            Name of the learned or recorded value, below the layer.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("shared", name)

    def window(self, s: Tensor, from_: Tensor, to: Tensor) -> Tensor:
        """Restricts scores [..,Tq,Tk] to windows: a query sees only the keys at positions
        from .

        to - 1, which are numbers [B or 1,1,Tq or 1,1]. Fused attention takes O(Tq (to -
        from)) time. Every window must contain a key visible to its query.

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.
        from_ : Tensor
            First index, or first position.
        to : Tensor
            End of the window, or what is set.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("window", s, from_, to)

    def running_sum(self, a: Tensor) -> Tensor:
        """Sums over the queries up to and including each: [B,n,Tq,d] made from x -> the
        same shape; decoding carries them.

        d may be Tk.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("running_sum", a)

    def fp32(self, x: Tensor) -> Tensor:
        """x for products that must not be rounded to bf16: linear of the result runs in
        fp32 there, and returns fp32.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("fp32", x)

    def shift(self, rows: Tensor, by: int) -> Tensor:
        """Rows [rows,n], each the row `by` tokens before it in its sentence (by < 0: after
        it, not in a decoder); zeros where there is none; decoding carries them.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        by : int
            A number, or places.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("shift", rows, by)

    def depthwise_conv(
        self,
        rows: Tensor,
        name: str,
        before: int,
        behind: int,
    ) -> Tensor:
        """a convolution of each column by itself: rows [rows,n] -> [rows,n]; learns
        `name`, [before + 1 + behind, n], oldest first.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        name : str
            Name of the learned or recorded value, below the layer.
        before : int
            Positions before.
        behind : int
            Positions behind.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("depthwise_conv", rows, name, before, behind)

    def call_attention(self, name: str, x: Tensor, mem: Tensor) -> Tensor:
        """The rows that another attention, named in `calls`, makes of x and mem in this
        place: rows as this plugin got them or computed from them (in self-attention
        pass one t twice).

        Its learned values are below its name; a second call has its own, below NAME.2.

        Parameters
        ----------
        name : str
            Name of the learned or recorded value, below the layer.
        x : Tensor
            Rows or a tensor, as above.
        mem : Tensor
            Rows of the key side.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("call_attention", name, x, mem)

    def logits(self, x: Tensor) -> Tensor:
        """x [rows,d_model] times the softmax's table: [rows,vocabulary].

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("logits", x)

    def token_vectors(self) -> Tensor:
        """The softmax's table [vocabulary,d_model], a vector for each token.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("token_vectors")

    def cross_entropy(self, logits: Tensor, target: Tensor) -> Tensor:
        """[rows,vocabulary], ids [rows] -> -log softmax(logits)[target], [rows,1]; 0 for
        target -1.

        Parameters
        ----------
        logits : Tensor
            Logits [rows,vocabulary].
        target : Tensor
            Ids [rows]; -1: none.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("cross_entropy", logits, target)

    def ahead(self, ids: Tensor, by: int) -> Tensor:
        """Ids [rows] -> for each row the id `by` rows behind it in its sentence, -1 where
        there is none.

        Parameters
        ----------
        ids : Tensor
            Ids, as a tensor.
        by : int
            A number, or places.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("ahead", ids, by)

    def delta_scan(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        beta: Tensor | None = None,
        log_decay: Tensor | None = None,
    ) -> Tensor:
        """Y_t = q_t S_t -> [B,H,T,d_v].

        The state S [d_k,d_v] of each sentence and head begins with 0: S_t = a S +
        beta_t k_t' (v_t - a k_t S), where S = S_{t-1} and a = exp(log_decay_t) (the
        gated delta rule). log_decay id 0: a = 1. beta id 0, without the correction: S_t
        = a S + k_t' v_t. q, k [B,H,T,d_k], v [B,H,T,d_v], beta, log_decay [B,H,T,1]; an
        axis B or H of length 1 is repeated. Self-attention only. In a decoder y_t sees
        the positions up to t, and decoding carries S. In the encoder a second
        recurrence runs from the end of each sentence and both are summed: y_t = q_t
        (S_t + R_t), so position t itself counts twice. From 2.7 on all but q may have n
        T positions, n for each token in order: q_t reads S after the n-th.

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d].
        k : Tensor
            Keys [B,H,Tk,d].
        v : Tensor
            Values [B,H,Tk,d].
        beta : Tensor, optional
            A tensor, as above.
        log_decay : Tensor, optional
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("delta_scan", q, k, v, beta, log_decay)

    def set_buffer(self, buffer: Tensor, value: Tensor) -> None:
        """In training sets the buffer's value after the step, once per step; no gradient.

        Each of k parts of a step (ranks, batches of gradient_accumulation) computes a
        proposal from the value before the step; the new value is their mean. A part
        without sentences proposes the old value.

        Parameters
        ----------
        buffer : Tensor
            A tensor, as above.
        value : Tensor
            Value.
        """
        self._call_none("set_buffer", buffer, value)

    def qr(self, a: Tensor) -> Tensor:
        """Q of a = Q R, [..,m,n] with m >= n -> the same shape: orthonormal columns, R's
        diagonal >= 0.

        Columns that depend on those before them complete a basis; zeros give the
        identity. No gradient; on CPUs only.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("qr", a)

    def measured(self, i: int) -> Tensor:
        """Sum over all parameters of number i that `measure` returned: one element.

        In update only.

        Parameters
        ----------
        i : int
            Index.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("measured", i)

    def softmax_sink(self, s: Tensor, sink: Tensor) -> Tensor:
        """Softmax with one more logit in its sum, whose key has no value.

        sink: the shape of s with 1 as its last axis, or 1 along others too.

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.
        sink : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("softmax_sink", s, sink)

    def entmax(self, s: Tensor, alpha: float) -> Tensor:
        """Sparse weights over the last axis.

        alpha: 1.5, or 2 for sparsemax; -inf has weight 0.

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.
        alpha : float
            1.5 or 2.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("entmax", s, alpha)

    def unit_length(self, a: Tensor, eps: float = 1e-6) -> Tensor:
        """a / sqrt(sum of squares over the last axis + eps): rows of length 1, one
        operation on CPUs.

        Parameters
        ----------
        a : Tensor
            A tensor, as above.
        eps : float, optional
            Added before the square root.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("unit_length", a, eps)

    def long_conv(
        self,
        rows: Tensor,
        past: Tensor,
        future: Tensor | None = None,
    ) -> Tensor:
        """a convolution of each column by itself with a filter as long as the sentence:
        rows [rows,n] -> the same shape, in O(T log^2 T) on CPUs; a GPU has no kernel
        and says so.

        Row i of past [L,n] weighs the position i before, row i of future [L,n] the
        position i + 1 behind; future id 0: none, as in every decoder. Rows beyond a
        filter's length count as 0. Decoding keeps all positions, and past needs a row
        for each, as many as kpos. Without a future no position affects an earlier one,
        not even by rounding.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        past : Tensor
            A tensor, as above.
        future : Tensor, optional
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("long_conv", rows, past, future)

    def teacher(self) -> Tensor:
        """The logits [rows,vocabulary] of the run's teacher (the key teacher) for these
        rows, fp32, in evaluation; no gradient.

        An error if the run has no teacher.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("teacher")

    def key_blocks(self, s: Tensor, allowed: Tensor, size: int) -> Tensor:
        """Restricts scores s [..,Tq,Tk] to chosen blocks of keys: a query sees key j only
        where allowed [..,Tq,ceil(Tk / size)] is above 0 at j / size; no gradient.

        Its first three axes are those of s, or 1. On CPUs, fused attention skips keys
        that none of 32 neighbouring queries sees. Every query must see a key.

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk], or what is added.
        allowed : Tensor
            A tensor, as above.
        size : int
            A number, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("key_blocks", s, allowed, size)

    def lstm(
        self,
        x: Tensor,
        in_: str,
        u: str,
        d: int,
        backwards: bool = False,
    ) -> Tensor:
        """As gru, a long short-term memory: i, f, o = sigmoid(a + u), g = tanh(a + u), m'
        = f m + i g, h' = o tanh(m'), where a and u have columns i, f, o, g; U [d,4d].

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        in_ : str
            Name of the linear of the inputs.
        u : str
            Name of the recurrent matrix.
        d : int
            Width of the state.
        backwards : bool, optional
            Whether to run from the end.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("lstm", x, in_, u, d, backwards)

    def dplr_scan(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        a: Tensor,
        b: Tensor,
        log_decay: Tensor,
    ) -> Tensor:
        """As delta_scan, with S_t = diag(exp(log_decay_t)) S + a_t' (b_t S) + k_t' v_t: a
        decay for each column of k and a change of rank 1 (RWKV-7, Peng et al.

        2025, section 4; Kimi Delta Attention). q, k, a, b, log_decay [B,H,T,d_k], v
        [B,H,T,d_v]. Any decay is exact, also one to 0.

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d].
        k : Tensor
            Keys [B,H,Tk,d].
        v : Tensor
            Values [B,H,Tk,d].
        a : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.
        log_decay : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("dplr_scan", q, k, v, a, b, log_decay)

    def solve_lower(self, l: Tensor, b: Tensor) -> Tensor:
        """(1 + L)^-1 b, where L is the part of l [..,n,n] below the diagonal and b
        [..,n,m]; an axis before these of length 1 is repeated.

        Parameters
        ----------
        l : Tensor
            A tensor, as above.
        b : Tensor
            A tensor, as above.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("solve_lower", l, b)

    def layer(self, x: Tensor, name: str) -> Tensor:
        """a layer of the decoder's kind (its first layer's plugins and settings) over rows
        [rows,d_model], in training; its learned values are below `name`.

        Parameters
        ----------
        x : Tensor
            Rows or a tensor, as above.
        name : str
            Name of the learned or recorded value, below the layer.

        Returns
        -------
        Tensor
            The result; `ablate.Error` if the program refuses it.
        """
        return self._call("layer", x, name)
