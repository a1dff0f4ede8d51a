# zsh -f complete.zsh FOLDER LINE...: prints what each line becomes when Tab is pressed at its end.
# FOLDER holds _lockwarp. An interactive zsh does it, in a terminal of zsh's own (zsh/zpty).
zmodload zsh/zpty || exit 77
folder=$1
shift
said=$folder/said
: >$said
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=(${(q)folder} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell "say() { print -r -- \"\$BUFFER\" >>${(q)said}; BUFFER=; }; zle -N say"
zpty -w shell "bindkey '^I' complete-word; bindkey '^Xs' say"
integer lines=0 waited
for line in "$@"; do
    zpty -w -n shell "$line"$'\t\x18s'
    ((++lines))
    for ((waited = 0; waited < 600 && $(wc -l <$said) < lines; ++waited)); do sleep 0.05; done
done
zpty -d shell
cat $said
