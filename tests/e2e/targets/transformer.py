#!/usr/bin/env python3
"""A transformer block: both spellings of attention, layer norm, GELU, dropout, Adam. Every attempt does the same work."""
import common
from common import now


def block(torch, width, heads):
    nn, functional = torch.nn, torch.nn.functional
    attention = getattr(functional, "scaled_dot_product_attention", None)  # 2.0

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
            self.qkv = nn.Linear(width, 3 * width)
            self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

        def heads_of(self, x):
            q, k, v = (t.unflatten(2, (heads, width // heads)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
            if attention:
                return attention(q, k, v, dropout_p=0.1, is_causal=True).transpose(1, 2).flatten(2)
            scores = torch.softmax(q @ k.transpose(-2, -1) / (width // heads) ** 0.5, dim=-1)
            return (functional.dropout(scores, 0.1) @ v).transpose(1, 2).flatten(2)

        def forward(self, x):
            n = self.first(x)
            x = x + self.attention(n, n, n, need_weights=False)[0]
            x = x + self.heads_of(self.second(x))
            return x + self.mlp(self.third(x))

    return Block()


def main():
    p = common.parser(__doc__)
    p.add_argument("--width", type=int, default=32)
    opt = p.parse_args()
    torch = common.setup()
    model = torch.nn.Sequential(torch.nn.Embedding(64, opt.width), block(torch, opt.width, 4), torch.nn.Linear(opt.width, 64))
    job = common.Job(opt, model)
    adam = torch.optim.Adam(model.parameters(), lr=0.001)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randint(0, 64, (4, 12)), torch.randint(0, 64, (48,))
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            adam.zero_grad()
            loss_of(model(x).view(48, 64), y).backward()
            a = now()
            adam.step()
            b = now()
        job.attempt(i, a, b)
    job.done()


main()
