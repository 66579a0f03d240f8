# shellcheck shell=bash
# bash completion of pcp-pmda-rust(1).
_pcp_pmda_rust() {
    local word=${COMP_WORDS[COMP_CWORD]} conf
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "status which enable disable run compare fits --version --help" -- "$word")
        return
    fi
    case ${COMP_WORDS[1]} in
        compare)
            # The agents of the host: the names in pmcd.conf.
            conf=$(sed -n 's/^PCP_PMCDCONF_PATH=//p' "${PCP_CONF:-/etc/pcp.conf}" 2>/dev/null)
            mapfile -t COMPREPLY < <(compgen -W "--fetches --json $(sed -n '/^\[/q; s/^\([A-Za-z][A-Za-z0-9_]*\)[[:blank:]].*/\1/p' "$conf" 2>/dev/null)" -- "$word") ;;
        status) mapfile -t COMPREPLY < <(compgen -W "--brief" -- "$word") ;;
        fits) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        run | which)
            if [ "$COMP_CWORD" = 2 ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi ;;
    esac
}
complete -F _pcp_pmda_rust pcp-pmda-rust
