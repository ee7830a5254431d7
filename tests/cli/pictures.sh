# ablate attention: the page and single figures of a small trained model; what is refused, in words.
source "$(dirname "$0")/common.bash" "$@"
{ tiny look 40 && printf '[sweep A]\nheads = 1, 2, 4\n'; } >look.ini
exits 0 ablate run look.ini --progress none
text=$(ablate show look/base --ref test | head -1)
word=${text%% *}

exits 0 ablate attention --run look/base --text "$text" -o page.html
has page.html '"part":"encoder self-attention","layer":1,"heads":2'
has page.html '"part":"attention to the source","layer":1,"heads":2'
hasnt page.html 'http://'
exits 0 ablate attention --run look/base --text "$text" --figure 3 --word "$word" -o three.svg
has three.svg 'aria-label="encoder self-attention, layer 1 of 1"'
exits 0 ablate attention --run look/base --text "$text" --figure 4 --word "$word" -o four.pdf
has four.pdf '%PDF-1.4'
exits 0 ablate attention --run look/base --text "$text" --figure 5 --part source -o five.svg
has five.svg 'aria-label="attention to the source, layer 1 of 1"'

exits 1 ablate attention --run look/base --text "$text" --figure 3 --word nowhere -o three.svg
has err '--word nowhere: not among the tokens: '
exits 1 ablate attention --run look/base --text "$text" --figure 3 --word "$word" --layer 2 -o three.svg
has err '--layer 2: encoder self-attention has weights in 1 layers'
exits 2 ablate attention --run look/base --text "$text" --figure 3 -o three.svg
has err '--figure 3: --word says which token it is about'
exits 2 ablate attention --run look/base --text "$text" --figure 5 -o three.png
has err 'a figure is written as .svg or .pdf'
exits 2 ablate attention --run look/base --text "$text" --word "$word" -o page.html
has err 'belong to --figure'
finish
