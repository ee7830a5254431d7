"""The host's functions with plain arguments. Made by python/generate.py from core/api/ab_host.h: do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        """
        Add a and b.

        Parameters
        ----------
        a : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.
        b : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.

        Returns
        -------
        Tensor
            The sums.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("add", a, b)

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        """
        Subtract b from a.

        Parameters
        ----------
        a : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.
        b : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.

        Returns
        -------
        Tensor
            The differences.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("sub", a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        """
        Multiply a and b element by element.

        Parameters
        ----------
        a : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.
        b : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.

        Returns
        -------
        Tensor
            The products.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("mul", a, b)

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        """
        Divide a by b element by element.

        Parameters
        ----------
        a : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.
        b : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.

        Returns
        -------
        Tensor
            The quotients.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("div", a, b)

    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        """
        Return the smaller of a and b; ties give the gradient to a.

        Parameters
        ----------
        a : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.
        b : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.

        Returns
        -------
        Tensor
            The smaller elements.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("minimum", a, b)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        """
        Return the larger of a and b; ties give the gradient to a.

        Parameters
        ----------
        a : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.
        b : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.

        Returns
        -------
        Tensor
            The larger elements.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("maximum", a, b)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """
        Choose a where condition is 1, else b.

        Parameters
        ----------
        condition : Tensor
            Elements 0 or 1.
        a : Tensor
            Broadcast like condition; the one not chosen has no influence, even if it is not finite.
        b : Tensor
            Broadcast like condition; the one not chosen has no influence, even if it is not finite.

        Returns
        -------
        Tensor
            The chosen elements.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("where", condition, a, b)

    def less_than(self, a: Tensor, b: Tensor) -> Tensor:
        """
        Compare a < b; no gradient.

        Parameters
        ----------
        a : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.
        b : Tensor
            Tensors with equal axes, or axes of length 1, which are repeated.

        Returns
        -------
        Tensor
            Elements 0 or 1.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("less_than", a, b)

    def mul_scalar(self, a: Tensor, by: float) -> Tensor:
        """
        Multiply a by a number.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.
        by : float
            The factor.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("mul_scalar", a, by)

    def add_scalar(self, a: Tensor, by: float) -> Tensor:
        """
        Add a number to a.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.
        by : float
            The number.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("add_scalar", a, by)

    def gelu(self, a: Tensor) -> Tensor:
        """
        Compute a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))).

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("gelu", a)

    def silu(self, a: Tensor) -> Tensor:
        """
        Compute a sigmoid(a).

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("silu", a)

    def softplus(self, a: Tensor) -> Tensor:
        """
        Compute log(1 + exp(a)).

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("softplus", a)

    def sum(self, a: Tensor, axis: int) -> Tensor:
        """
        Sum over an axis, which remains with length 1.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.
        axis : int
            From -4 to -1; -1 is the last.

        Returns
        -------
        Tensor
            The sums.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("sum", a, self._axis("sum", axis))

    def cumsum(self, a: Tensor) -> Tensor:
        """
        Sum along axis -2 up to and including each index.

        Parameters
        ----------
        a : Tensor
            [..,T,n].

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("cumsum", a)

    def softmax(self, s: Tensor) -> Tensor:
        """
        Normalize exp(s) to weights of sum 1 over the last axis; -inf has weight 0.

        Parameters
        ----------
        s : Tensor
            Scores [..,Tq,Tk].

        Returns
        -------
        Tensor
            Weights of the same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("softmax", s)

    def matmul(
        self,
        a: Tensor,
        b: Tensor,
        ta: bool = False,
        tb: bool = False,
    ) -> Tensor:
        """
        Multiply matrices, the last two axes; the others broadcast.

        Parameters
        ----------
        a : Tensor
            [..,m,k], with ta [..,k,m].
        b : Tensor
            [..,k,n], with tb [..,n,k].
        ta : bool, optional
            Whether to transpose a first.
        tb : bool, optional
            Whether to transpose b first.

        Returns
        -------
        Tensor
            [..,m,n].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("matmul", a, b, ta, tb)

    def transpose(self, a: Tensor, axis1: int, axis2: int) -> Tensor:
        """
        Swap two axes.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.
        axis1 : int
            From -4 to -1; -1 is the last.
        axis2 : int
            From -4 to -1; -1 is the last.

        Returns
        -------
        Tensor
            The elements with swapped axes.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("transpose", a, self._axis("transpose", axis1), self._axis("transpose", axis2))

    def slice(self, a: Tensor, axis: int, from_: int, n: int) -> Tensor:
        """
        Keep n indices of an axis.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.
        axis : int
            From -4 to -1; -1 is the last.
        from_ : int
            The first index that is kept, from 0.
        n : int
            How many indices.

        Returns
        -------
        Tensor
            The shape of a with length n along the axis.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("slice", a, self._axis("slice", axis), from_, n)

    def concat(self, a: Tensor, b: Tensor, axis: int) -> Tensor:
        """
        Join a and b along an axis.

        Parameters
        ----------
        a : Tensor
            Tensors with equal lengths along the other axes.
        b : Tensor
            Tensors with equal lengths along the other axes.
        axis : int
            From -4 to -1; -1 is the last.

        Returns
        -------
        Tensor
            The lengths along the axis add up.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("concat", a, b, self._axis("concat", axis))

    def detach(self, a: Tensor) -> Tensor:
        """
        Return equal values without a gradient.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.

        Returns
        -------
        Tensor
            The same values.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("detach", a)

    def rotate_half(self, a: Tensor) -> Tensor:
        """
        Map the halves (x1,x2) of the last axis to (-x2,x1).

        Parameters
        ----------
        a : Tensor
            [..,d] with even d.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("rotate_half", a)

    def embedding(self, table: Tensor, ids: Tensor) -> Tensor:
        """
        Look up rows of a table.

        Parameters
        ----------
        table : Tensor
            [n,d].
        ids : Tensor
            Ids [T] from 0 to n - 1.

        Returns
        -------
        Tensor
            [T,d].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("embedding", table, ids)

    def to_float(self, ids: Tensor) -> Tensor:
        """
        Convert ids to numbers.

        Parameters
        ----------
        ids : Tensor
            Ids of any shape.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("to_float", ids)

    def outer(self, a: Tensor, b: Tensor) -> Tensor:
        """
        Multiply each element of a by each of b.

        Parameters
        ----------
        a : Tensor
            [T].
        b : Tensor
            [n].

        Returns
        -------
        Tensor
            [T,n].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("outer", a, b)

    def relative_position(self, qpos: Tensor, kpos: Tensor) -> Tensor:
        """
        Return how far each key is behind each query.

        Parameters
        ----------
        qpos : Tensor
            From `qpos`: ids [Tq].
        kpos : Tensor
            From `kpos`: ids [Tk].

        Returns
        -------
        Tensor
            Numbers [Tq,Tk]: k - q, in positions.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("relative_position", qpos, kpos)

    def clipped_relative_position(
        self,
        qpos: Tensor,
        kpos: Tensor,
        clip: int,
    ) -> Tensor:
        """
        Return clamp(k - q, -clip, clip) + clip as ids.

        Parameters
        ----------
        qpos : Tensor
            From `qpos`: ids [Tq].
        kpos : Tensor
            From `kpos`: ids [Tk].
        clip : int
            The largest distance that is told apart, in positions.

        Returns
        -------
        Tensor
            Ids [Tq,Tk] from 0 to 2 clip.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("clipped_relative_position", qpos, kpos, clip)

    def gather(self, x: Tensor, ids: Tensor) -> Tensor:
        """
        Choose elements of the last axis by ids.

        Parameters
        ----------
        x : Tensor
            [..,Tq,n].
        ids : Tensor
            Ids [Tq,Tk] or [..,Tq,Tk], from 0 to n - 1.

        Returns
        -------
        Tensor
            [..,Tq,Tk].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("gather", x, ids)

    def scatter_add(self, p: Tensor, ids: Tensor, n: int) -> Tensor:
        """
        Add elements up by ids: the adjoint of `gather`.

        Parameters
        ----------
        p : Tensor
            [..,Tq,Tk].
        ids : Tensor
            Ids [Tq,Tk] or [..,Tq,Tk], from 0 to n - 1.
        n : int
            Length of the result's last axis.

        Returns
        -------
        Tensor
            [..,Tq,n].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("scatter_add", p, ids, n)

    def linear(self, x: Tensor, name: str, width: int, bias: bool = True) -> Tensor:
        """
        Map the last axis by a learned matrix, initially Glorot uniform.

        Parameters
        ----------
        x : Tensor
            [..,n].
        name : str
            Name of the learned or recorded values, below the layer.
        width : int
            Columns of the result.
        bias : bool, optional
            Whether to add a learned bias, initially 0.

        Returns
        -------
        Tensor
            [..,width].

        Raises
        ------
        Error
            If shapes do not fit, or it is called in an operation's or an optimizer's functions.
        """
        return self._call("linear", x, name, width, bias)

    def linear_relu(
        self,
        x: Tensor,
        name: str,
        width: int,
        bias: bool = True,
    ) -> Tensor:
        """
        Compute max(0, linear) in one operation.

        Parameters
        ----------
        x : Tensor
            [..,n].
        name : str
            Name of the learned or recorded values, below the layer.
        width : int
            Columns of the result.
        bias : bool, optional
            Whether to add a learned bias, initially 0.

        Returns
        -------
        Tensor
            [..,width].

        Raises
        ------
        Error
            If shapes do not fit, or it is called in an operation's or an optimizer's functions.
        """
        return self._call("linear_relu", x, name, width, bias)

    def layer_norm(
        self,
        x: Tensor,
        gain: Tensor,
        bias: Tensor,
        eps: float = 1e-6,
    ) -> Tensor:
        """
        Compute (x - mean) / sqrt(variance + eps) gain + bias over the last axis.

        Parameters
        ----------
        x : Tensor
            Rows [rows,d].
        gain : Tensor
            [d].
        bias : Tensor
            [d].
        eps : float, optional
            Added before the square root.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called in an operation's or an optimizer's functions.
        """
        return self._call("layer_norm", x, gain, bias, eps)

    def add_layer_norm(
        self,
        x: Tensor,
        s: Tensor,
        gain: Tensor,
        bias: Tensor,
        eps: float = 1e-6,
    ) -> Tensor:
        """
        Compute the layer norm of x + dropout(s).

        Parameters
        ----------
        x : Tensor
            Rows [rows,d].
        s : Tensor
            Rows [rows,d].
        gain : Tensor
            [d].
        bias : Tensor
            [d].
        eps : float, optional
            Added before the square root.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called in an operation's or an optimizer's functions.
        """
        return self._call("add_layer_norm", x, s, gain, bias, eps)

    def self_attention(self, x: Tensor) -> Tensor:
        """
        Call the row's self-attention, with learned values below "self".

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model].

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a block's forward.
        """
        return self._call("self_attention", x)

    def cross_attention(self, x: Tensor) -> Tensor:
        """
        Attend to the encoder's output, with learned values below "cross".

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model]; `Info.cross` says whether the layer has an encoder.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a block's forward.
        """
        return self._call("cross_attention", x)

    def feed_forward(self, x: Tensor, name: str) -> Tensor:
        """
        Call the row's feed-forward.

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model]; `Info.feed_forward` says whether the layer has one.
        name : str
            Name of its learned values, such as "ffn"; two calls with one name share them.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a block's forward.
        """
        return self._call("feed_forward", x, name)

    def normalize(self, x: Tensor, name: str) -> Tensor:
        """
        Call the row's norm.

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model].
        name : str
            Name of its learned values, such as "self.ln"; two calls with one name share them.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a block.
        """
        return self._call("normalize", x, name)

    def add_normalize(self, x: Tensor, s: Tensor, name: str) -> Tensor:
        """
        Call the row's norm on x + dropout(s), in one operation if it has `add`.

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model].
        s : Tensor
            Rows [rows,d_model].
        name : str
            Name of its learned values, such as "self.ln"; two calls with one name share them.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a block.
        """
        return self._call("add_normalize", x, s, name)

    def add_dropout(self, x: Tensor, s: Tensor) -> Tensor:
        """
        Compute x + dropout(s).

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model].
        s : Tensor
            Rows [rows,d_model].

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a block.
        """
        return self._call("add_dropout", x, s)

    def assign(self, to: Tensor, value: Tensor) -> None:
        """
        Set the parameter or a slot to a value after the update.

        Parameters
        ----------
        to : Tensor
            The parameter or one of its slots, as the function got it.
        value : Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an optimizer's functions.
        """
        self._call_none("assign", to, value)

    def scores(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """
        Compute scale q.k plus position and mask.

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d_k].
        k : Tensor
            Keys [B,H,Tk,d_k].
        scale : float
            Factor of the products of queries and keys.

        Returns
        -------
        Tensor
            [B,H,Tq,Tk]; keys in the future and padding have -inf.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("scores", q, k, scale)

    def mask(self, s: Tensor) -> Tensor:
        """
        Set the scores of keys in the future and of padding to -inf.

        Parameters
        ----------
        s : Tensor
            [B,H,Tq,Tk].

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("mask", s)

    def position(self, s: Tensor, q: Tensor, k: Tensor) -> Tensor:
        """
        Add what the position's hooks bias and scores return; no mask.

        Parameters
        ----------
        s : Tensor
            Scores [B,H,Tq,Tk].
        q : Tensor
            Queries [B,H,Tq,d_k].
        k : Tensor
            Keys [B,H,Tk,d_k].

        Returns
        -------
        Tensor
            The same shape as s.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("position", s, q, k)

    def weighted_sum(self, p: Tensor, v: Tensor) -> Tensor:
        """
        Compute p.v, with the position's contribution to values.

        Parameters
        ----------
        p : Tensor
            Weights [B,H,Tq,Tk].
        v : Tensor
            Values [B,H,Tk,d_v].

        Returns
        -------
        Tensor
            [B,H,Tq,d_v].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("weighted_sum", p, v)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        """
        Compute softmax(scores).v, as one fused operation if possible.

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d_k].
        k : Tensor
            Keys [B,H,Tk,d_k].
        v : Tensor
            Values [B,H,Tk,d_v].
        scale : float
            Factor of the products of queries and keys.

        Returns
        -------
        Tensor
            [B,H,Tq,d_v].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("attend", q, k, v, scale)

    def causal_kv_sum(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """
        Compute q_t times the sum over visible j of k_j v_j'; decoding carries the sum.

        Parameters
        ----------
        q : Tensor
            Queries [B,H,Tq,d_k].
        k : Tensor
            Keys [B,H,T,d_k], from `key_step`.
        v : Tensor
            Values [B,H,T,d_v], from `value_step`.

        Returns
        -------
        Tensor
            [B,H,Tq,d_v].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("causal_kv_sum", q, k, v)

    def output(self, y: Tensor) -> Tensor:
        """
        Merge heads and map them to the model's width by a learned matrix.

        Parameters
        ----------
        y : Tensor
            [B,H,T,d_v], or rows [rows,H d_v] as `merge` returns them.

        Returns
        -------
        Tensor
            Rows [rows,d_model].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("output", y)

    def heads(self, rows: Tensor, heads: int) -> Tensor:
        """
        Split rows into heads.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,heads d] made from x or mem.
        heads : int
            How many heads.

        Returns
        -------
        Tensor
            [B,heads,T,d].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("heads", rows, heads)

    def rotate(self, x: Tensor) -> Tensor:
        """
        Apply the position's rotation to queries or keys of self-attention.

        Parameters
        ----------
        x : Tensor
            [B,H,T,d_k].

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("rotate", x)

    def remember(self, x: Tensor) -> Tensor:
        """
        Return x in training, and in decoding all steps so far.

        Remembers x [B,n,T,d] (keys, values or similar); n and d are equal in every step. In decoding x is
        this step's [B,n,1,d]; the result [B,n,Tk,d], as long as kpos, has all steps so far, then zeros,
        which mask hides. Calls find their caches by their order, which must be the same in every step.

        Parameters
        ----------
        x : Tensor
            Keys, values or similar, [B,n,T,d].

        Returns
        -------
        Tensor
            [B,n,T,d], in decoding [B,n,Tk,d].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("remember", x)

    def merge(self, y: Tensor) -> Tensor:
        """
        Merge heads into rows of the query side.

        Parameters
        ----------
        y : Tensor
            [B,n,Tq,d].

        Returns
        -------
        Tensor
            Rows [rows,n d].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("merge", y)

    def pad(self, rows: Tensor) -> Tensor:
        """
        Arrange rows by sentence, with zeros at padding.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n] made from x or from mem, not from both.

        Returns
        -------
        Tensor
            [1,B,T,n].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
        """
        return self._call("pad", rows)

    def pack(self, x: Tensor) -> Tensor:
        """
        Arrange sentences as rows of the query side.

        Parameters
        ----------
        x : Tensor
            [1,B,T,n].

        Returns
        -------
        Tensor
            Rows [rows,n].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
        """
        return self._call("pack", x)

    def qpos(self) -> Tensor:
        """
        Return positions of the queries.

        Returns
        -------
        Tensor
            Ids [Tq].

        Raises
        ------
        Error
            If it is called outside an attention and a position's rotate, bias, scores and values.
        """
        return self._call("qpos")

    def kpos(self) -> Tensor:
        """
        Return positions of the keys.

        Returns
        -------
        Tensor
            Ids [Tk].

        Raises
        ------
        Error
            If it is called outside an attention and a position's rotate, bias, scores and values.
        """
        return self._call("kpos")

    def klen(self) -> Tensor:
        """
        Return how many keys of each sentence are visible.

        Returns
        -------
        Tensor
            Numbers [B,1,1,1], in tokens.

        Raises
        ------
        Error
            If it is called outside an attention and a position's rotate, bias, scores and values.
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
        """
        Run a gated recurrent unit along each sentence.

        Rows [rows,d], the states of a gated recurrent unit: z, r = sigmoid(a + u), m = tanh(a + r u), h' =
        (1 - z) m + z h, where a = x W + b is the linear named `in`, u = h U, both with columns z, r, m; U
        [d,3d] is named `u`, initially uniform in [-1/sqrt(d), 1/sqrt(d)].

        Parameters
        ----------
        x : Tensor
            Rows [rows,n] made from x or mem.
        in_ : str
            Name of the linear of the inputs.
        u : str
            Name of the recurrent matrix [d,3d].
        d : int
            Width of the state.
        backwards : bool, optional
            Whether to run from the end of a sentence; not in a decoder.

        Returns
        -------
        Tensor
            The states, rows [rows,d].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
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
        """
        Convolve along each sentence, with zeros around it.

        Rows [rows,width], a convolution: y_t = b + sum over j = -before .. behind of x_{t+j} W_j, zeros
        around the sentence. W and b are the linear named `name` with (before + 1 + behind) n inputs, oldest
        position first.

        Parameters
        ----------
        x : Tensor
            Rows [rows,n] made from x or mem.
        name : str
            Name of the linear with (before + 1 + behind) n inputs.
        width : int
            Columns of the result.
        before : int
            How many positions before a token it sees, in tokens.
        behind : int
            How many positions behind a token it sees, in tokens; 0 in a decoder.

        Returns
        -------
        Tensor
            Rows [rows,width].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
        """
        return self._call("conv", x, name, width, before, behind)

    def max(self, a: Tensor, axis: int) -> Tensor:
        """
        Return the maximum over an axis, which remains with length 1.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.
        axis : int
            From -4 to -1; -1 is the last.

        Returns
        -------
        Tensor
            The largest elements.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("max", a, self._axis("max", axis))

    def to_ids(self, a: Tensor) -> Tensor:
        """
        Round to the nearest integers, as ids; no gradient.

        Parameters
        ----------
        a : Tensor
            A tensor of any shape.

        Returns
        -------
        Tensor
            Ids of the same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("to_ids", a)

    def one_hot(self, ids: Tensor, n: int) -> Tensor:
        """
        Return 1 at each id and 0 elsewhere.

        Parameters
        ----------
        ids : Tensor
            Ids [..,T] from 0 to n - 1.
        n : int
            Length of the new axis.

        Returns
        -------
        Tensor
            [..,T,n].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("one_hot", ids, n)

    def scatter_rows(self, rows: Tensor, ids: Tensor, n: int) -> Tensor:
        """
        Add rows up by id: the adjoint of `embedding`.

        Parameters
        ----------
        rows : Tensor
            [T,d].
        ids : Tensor
            Ids [T] from 0 to n - 1.
        n : int
            How many rows the result has.

        Returns
        -------
        Tensor
            [n,d].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("scatter_rows", rows, ids, n)

    def tokens(self) -> Tensor:
        """
        Return the tokens of x's rows; in a decoder, the token before each target.

        Returns
        -------
        Tensor
            Ids [rows].

        Raises
        ------
        Error
            If it is called in an operation's or an optimizer's functions.
        """
        return self._call("tokens")

    def row_mask(self) -> Tensor:
        """
        Return 1 for a row with a token, 0 for a padding row.

        Returns
        -------
        Tensor
            [rows,1].

        Raises
        ------
        Error
            If it is called in an operation's or an optimizer's functions.
        """
        return self._call("row_mask")

    def add_loss(self, name: str, value: Tensor, weight: float) -> None:
        """
        Add weight times value to the loss, and record value as a curve PLUGIN.name.

        Parameters
        ----------
        name : str
            Lower-case letters, digits and _; values of one name are averaged over calls.
        value : Tensor
            One number, a mean over tokens; no effect outside training.
        weight : float
            Factor in the loss.

        Raises
        ------
        Error
            If shapes do not fit, or it is called in an operation's or an optimizer's functions.
        """
        self._call_none("add_loss", name, value, weight)

    def share(self, name: str, x: Tensor) -> None:
        """
        Share x under this name with later layers of this stack.

        Parameters
        ----------
        name : str
            What `shared` asks for.
        x : Tensor
            A tensor of any shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called in an operation's or an optimizer's functions.
        """
        self._call_none("share", name, x)

    def shared(self, name: str) -> Tensor:
        """
        Return the value that the same plugin shared last in an earlier layer.

        Parameters
        ----------
        name : str
            What `share` named in the same place (self, cross or ffn).

        Returns
        -------
        Tensor
            The shape that was shared.

        Raises
        ------
        Error
            If no earlier layer has shared it, or it is called in an operation's or an optimizer's functions.
        """
        return self._call("shared", name)

    def window(self, s: Tensor, from_: Tensor, to: Tensor) -> Tensor:
        """
        Restrict scores to a window of keys for each query.

        Parameters
        ----------
        s : Tensor
            Scores [..,Tq,Tk].
        from_ : Tensor
            The first visible position, numbers [B or 1,1,Tq or 1,1].
        to : Tensor
            The end, the position behind the last visible one; every window contains a visible key.

        Returns
        -------
        Tensor
            The same shape; fused attention takes O(Tq (to - from)) time.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("window", s, from_, to)

    def running_sum(self, a: Tensor) -> Tensor:
        """
        Sum over the queries up to and including each; decoding carries the sums.

        Parameters
        ----------
        a : Tensor
            [B,n,Tq,d] made from x; d may be Tk.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
        """
        return self._call("running_sum", a)

    def fp32(self, x: Tensor) -> Tensor:
        """
        Keep products with x from being rounded to bf16: a linear of the result runs in fp32.

        Parameters
        ----------
        x : Tensor
            A tensor of any shape.

        Returns
        -------
        Tensor
            The same values.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("fp32", x)

    def shift(self, rows: Tensor, by: int) -> Tensor:
        """
        Return for each row the row `by` tokens before it in its sentence, zeros where there is none.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        by : int
            In tokens; below 0: after it, not in a decoder.

        Returns
        -------
        Tensor
            The same shape; decoding carries the rows.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
        """
        return self._call("shift", rows, by)

    def depthwise_conv(
        self,
        rows: Tensor,
        name: str,
        before: int,
        behind: int,
    ) -> Tensor:
        """
        Convolve each column by itself along each sentence.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        name : str
            Name of the weights [before + 1 + behind,n], oldest position first.
        before : int
            How many positions before a token it sees, in tokens.
        behind : int
            How many positions behind a token it sees, in tokens; 0 in a decoder.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
        """
        return self._call("depthwise_conv", rows, name, before, behind)

    def call_attention(self, name: str, x: Tensor, mem: Tensor) -> Tensor:
        """
        Call another attention in this place.

        Parameters
        ----------
        name : str
            One of the plugin's `calls`; a second call of one name learns values below NAME.2.
        x : Tensor
            Rows as this plugin got them or computed from them; in self-attention one tensor twice.
        mem : Tensor
            Rows as this plugin got them or computed from them; in self-attention one tensor twice.

        Returns
        -------
        Tensor
            Rows [rows,d_model].

        Raises
        ------
        Error
            If shapes do not fit, or `calls` does not name it, or it is called outside an attention's forward.
        """
        return self._call("call_attention", name, x, mem)

    def logits(self, x: Tensor) -> Tensor:
        """
        Multiply x by the softmax's table.

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model].

        Returns
        -------
        Tensor
            [rows,vocabulary].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a head.
        """
        return self._call("logits", x)

    def token_vectors(self) -> Tensor:
        """
        Return the softmax's table, a vector for each token.

        Returns
        -------
        Tensor
            [vocabulary,d_model].

        Raises
        ------
        Error
            If it is called outside a head.
        """
        return self._call("token_vectors")

    def cross_entropy(self, logits: Tensor, target: Tensor) -> Tensor:
        """
        Compute -log softmax(logits)[target], 0 for target -1.

        Parameters
        ----------
        logits : Tensor
            [rows,vocabulary].
        target : Tensor
            Ids [rows]; -1: none.

        Returns
        -------
        Tensor
            [rows,1], in nats.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a head.
        """
        return self._call("cross_entropy", logits, target)

    def ahead(self, ids: Tensor, by: int) -> Tensor:
        """
        Return for each row the id `by` rows behind it in its sentence, -1 where there is none.

        Parameters
        ----------
        ids : Tensor
            Ids [rows].
        by : int
            In rows.

        Returns
        -------
        Tensor
            Ids [rows].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a head's losses.
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
        """
        Run the gated delta rule along each sentence.

        Y_t = q_t S_t -> [B,H,T,d_v]. The state S [d_k,d_v] of each sentence and head begins with 0: S_t = a
        S + beta_t k_t' (v_t - a k_t S), where S = S_{t-1} and a = exp(log_decay_t) (the gated delta rule).
        log_decay None: a = 1. beta id 0, without the correction: S_t = a S + k_t' v_t. q, k [B,H,T,d_k], v
        [B,H,T,d_v], beta, log_decay [B,H,T,1]; an axis B or H of length 1 is repeated. Self-attention only.
        In a decoder y_t sees the positions up to t, and decoding carries S. In the encoder a second
        recurrence runs from the end of each sentence and both are summed: y_t = q_t (S_t + R_t), so
        position t itself counts twice. From 2.7 on all but q may have n T positions, n for each token in
        order: q_t reads S after the n-th.

        Parameters
        ----------
        q : Tensor
            [B,H,T,d_k].
        k : Tensor
            [B,H,T,d_k].
        v : Tensor
            [B,H,T,d_v].
        beta : Tensor, optional
            [B,H,T,1]; None: without the correction.
        log_decay : Tensor, optional
            [B,H,T,1]; None: no decay.

        Returns
        -------
        Tensor
            [B,H,T,d_v].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("delta_scan", q, k, v, beta, log_decay)

    def set_buffer(self, buffer: Tensor, value: Tensor) -> None:
        """
        Set a buffer's value after the step, in training, once per step.

        In training sets the buffer's value after the step, once per step; no gradient. Each of k parts of a
        step (ranks, batches of gradient_accumulation) computes a proposal from the value before the step;
        the new value is their mean. A part without sentences proposes the old value.

        Parameters
        ----------
        buffer : Tensor
            From `buffer`.
        value : Tensor
            The same shape; no gradient.

        Raises
        ------
        Error
            If shapes do not fit, or it is called in an operation's or an optimizer's functions.
        """
        self._call_none("set_buffer", buffer, value)

    def qr(self, a: Tensor) -> Tensor:
        """
        Return Q of a = Q R; no gradient, on CPUs only.

        Q of a = Q R, [..,m,n] with m >= n -> the same shape: orthonormal columns, R's diagonal >= 0. A
        column of a that depends on earlier ones gets a direction that completes the basis; a = 0 gives the
        identity. No gradient; on CPUs only.

        Parameters
        ----------
        a : Tensor
            [..,m,n] with m >= n.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an optimizer's functions.
        """
        return self._call("qr", a)

    def measured(self, i: int) -> Tensor:
        """
        Return the sum over all parameters of a number that `measure` returned.

        Parameters
        ----------
        i : int
            Which of its numbers, from 0.

        Returns
        -------
        Tensor
            One element.

        Raises
        ------
        Error
            If it is called outside an optimizer's functions.
        """
        return self._call("measured", i)

    def softmax_sink(self, s: Tensor, sink: Tensor) -> Tensor:
        """
        Normalize with one more logit in the sum, whose key has no value.

        Parameters
        ----------
        s : Tensor
            Scores [..,Tq,Tk].
        sink : Tensor
            The shape of s with 1 as its last axis, or 1 along others too.

        Returns
        -------
        Tensor
            Weights of the shape of s; their sum is below 1.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("softmax_sink", s, sink)

    def entmax(self, s: Tensor, alpha: float) -> Tensor:
        """
        Normalize to sparse weights over the last axis; -inf has weight 0.

        Parameters
        ----------
        s : Tensor
            Scores [..,Tq,Tk].
        alpha : float
            1.5, or 2 for sparsemax.

        Returns
        -------
        Tensor
            Weights of the same shape.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("entmax", s, alpha)

    def unit_length(self, a: Tensor, eps: float = 1e-6) -> Tensor:
        """
        Compute a / sqrt(sum of squares over the last axis + eps).

        Parameters
        ----------
        a : Tensor
            [..,d].
        eps : float, optional
            Added before the square root.

        Returns
        -------
        Tensor
            The same shape; rows have length 1.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("unit_length", a, eps)

    def long_conv(
        self,
        rows: Tensor,
        past: Tensor,
        future: Tensor | None = None,
    ) -> Tensor:
        """
        Convolve each column with a filter as long as the sentence.

        a convolution of each column by itself with a filter as long as the sentence: rows [rows,n] -> the
        same shape, in O(T log^2 T) on CPUs; a GPU has no kernel and says so. Row i of past [L,n] weighs the
        position i before, row i of future [L,n] the position i + 1 after; future None: no future, as in
        every decoder. Filters shorter than the sentence continue with 0. Decoding keeps all positions; past
        then needs a row for each element of kpos. Without a future no position affects an earlier one, not
        even by rounding.

        Parameters
        ----------
        rows : Tensor
            Rows [rows,n].
        past : Tensor
            [L,n]: row i weighs the position i before.
        future : Tensor, optional
            [L,n]: row i weighs the position i + 1 behind; None: no future.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("long_conv", rows, past, future)

    def teacher(self) -> Tensor:
        """
        Return the logits of the run's teacher for these rows; no gradient.

        Returns
        -------
        Tensor
            [rows,vocabulary] in fp32.

        Raises
        ------
        Error
            If the run has no teacher, or it is called outside a head's losses.
        """
        return self._call("teacher")

    def key_blocks(self, s: Tensor, allowed: Tensor, size: int) -> Tensor:
        """
        Restrict scores to chosen blocks of keys.

        Restricts scores s [..,Tq,Tk] to chosen blocks of keys: a query sees key j only where allowed
        [..,Tq,ceil(Tk / size)] is above 0 at j / size; no gradient. Its first three axes are those of s, or
        1. On CPUs, fused attention skips keys that none of 32 neighbouring queries sees. Every query must
        see a key.

        Parameters
        ----------
        s : Tensor
            Scores [..,Tq,Tk].
        allowed : Tensor
            [..,Tq,ceil(Tk / size)]: above 0 for a block that a query sees.
        size : int
            Keys of a block, in tokens.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
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
        """
        Run a long short-term memory along each sentence.

        Like gru, but a long short-term memory: i, f, o = sigmoid(a + u), g = tanh(a + u), m' = f m + i g,
        h' = o tanh(m'), where a and u have columns i, f, o, g; U [d,4d].

        Parameters
        ----------
        x : Tensor
            Rows [rows,n] made from x or mem.
        in_ : str
            Name of the linear of the inputs.
        u : str
            Name of the recurrent matrix [d,4d].
        d : int
            Width of the state.
        backwards : bool, optional
            Whether to run from the end of a sentence; not in a decoder.

        Returns
        -------
        Tensor
            The states, rows [rows,d].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention, and a feed-forward or block that claims
            `MIXES_TOKENS`.
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
        """
        Run a recurrence with a decay per column and a change of rank 1.

        As delta_scan, with S_t = diag(exp(log_decay_t)) S + a_t' (b_t S) + k_t' v_t: a decay for each
        column of k and a change of rank 1 (RWKV-7, Peng et al. 2025, section 4; Kimi Delta Attention). q,
        k, a, b, log_decay [B,H,T,d_k], v [B,H,T,d_v]. Any decay is exact, also one to 0.

        Parameters
        ----------
        q : Tensor
            [B,H,T,d_k].
        k : Tensor
            [B,H,T,d_k].
        v : Tensor
            [B,H,T,d_v].
        a : Tensor
            [B,H,T,d_k].
        b : Tensor
            [B,H,T,d_k].
        log_decay : Tensor
            [B,H,T,d_k].

        Returns
        -------
        Tensor
            [B,H,T,d_v].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("dplr_scan", q, k, v, a, b, log_decay)

    def solve_lower(self, l: Tensor, b: Tensor) -> Tensor:
        """
        Solve with 1 plus the part of l below the diagonal: (1 + L)^-1 b.

        Parameters
        ----------
        l : Tensor
            [..,n,n].
        b : Tensor
            [..,n,m]; an axis before these of length 1 is repeated.

        Returns
        -------
        Tensor
            [..,n,m].

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("solve_lower", l, b)

    def layer(self, x: Tensor, name: str) -> Tensor:
        """
        Run a layer of the decoder's kind in training.

        Parameters
        ----------
        x : Tensor
            Rows [rows,d_model].
        name : str
            Name of its learned values.

        Returns
        -------
        Tensor
            The same shape.

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside a head's losses.
        """
        return self._call("layer", x, name)

    def gradient(self, y: Tensor, x: Tensor) -> Tensor:
        """
        Differentiate the sum of y with respect to x, such as for a learning step inside `scan`.

        The gradient of the sum of y with respect to x, of x's shape, such as for a learning step in scan.
        It can be differentiated again: y may come from x by functions tagged ANY, but not by max, top_k,
        sort or unit_length.

        Parameters
        ----------
        y : Tensor
            Computed from x.
        x : Tensor
            Any tensor.

        Returns
        -------
        Tensor
            The same shape as x.

        Raises
        ------
        Error
            If shapes do not fit.
        """
        return self._call("gradient", y, x)

    def second_gradient(self) -> Tensor:
        """
        Return the gradient at the point that `shift` assigned.

        Returns
        -------
        Tensor
            The same shape as p.

        Raises
        ------
        Error
            If it is called outside an optimizer's functions.
        """
        return self._call("second_gradient")

    def fenwick_scan(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        log_decay: Tensor,
        weights: Tensor,
    ) -> Tensor:
        """
        Run log-linear attention: linear attention over buckets of positions, each with its weight.

        Log-linear attention, in O(T log T): y_t = sum over n of weights_t[n] q_t S_t,n -> [B,H,T,d_v],
        where S_t,n sums k_j' v_j times exp(log_decay_{j+1} + ... + log_decay_t) over j <= t with n bits in
        t ^ j, at most levels - 1. q, k [B,H,T,d_k], v [B,H,T,d_v], log_decay [B,H,T,1], at most 0, weights
        [B,H,T,levels]; axes B or H of length 1 are repeated. Only in a decoder; decoding carries a state
        per level (Guo et al. 2025, eq. 4 to 6).

        Parameters
        ----------
        q : Tensor
            [B,H,T,d_k].
        k : Tensor
            [B,H,T,d_k].
        v : Tensor
            [B,H,T,d_v].
        log_decay : Tensor
            [B,H,T,1], at most 0.
        weights : Tensor
            [B,H,T,levels], 2 levels or more.

        Returns
        -------
        Tensor
            [B,H,T,d_v].

        Raises
        ------
        Error
            If shapes do not fit, or it is called outside an attention and a position's rotate, bias, scores and
            values.
        """
        return self._call("fenwick_scan", q, k, v, log_decay, weights)
