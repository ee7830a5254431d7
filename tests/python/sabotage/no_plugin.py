# says: found 0 plugins, expected one; put @ablate.attention(doc=...) or another kind above its function
import ablate as ab

nothing = ab.real(0, 0, 1, "of interest")
