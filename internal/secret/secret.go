package secret

import "strings"

// Hidden stands in the place of a secret.
const Hidden = "***"

// sensitive are parts of names whose values are nobody's business, letters only.
var sensitive = [...]string{
	"token", "secret", "passw", "passphrase", "pwd", "key", "auth", "credential", "cookie", "bearer", "header",
	"private", "signature", "connectionstring", "dsn",
}

var separators = strings.NewReplacer("-", "", "_", "", ".", "") // each new one would take 5 KB

// Named reports whether what a flag, variable, header or setting of this name
// holds is a secret. Case, hyphens, underscores and dots do not matter.
func Named(name string) bool {
	if is, sure := named(name); sure {
		return is
	}
	letters := strings.ToLower(name)
	if strings.ContainsAny(letters, "-_.") {
		letters = separators.Replace(letters)
	}
	for _, word := range sensitive {
		if strings.Contains(letters, word) {
			return true
		}
	}
	return false
}

// starts are how tokens begin that are hidden in any case and of any length.
var starts = [...]string{"authorization:", "bearer ", "sk-", "ghp_", "github_pat_", "glpat-", "xoxb-", "xoxp-"}

// prefixes are how other tokens begin; a few letters more are names of
// programs and settings.
var prefixes = [...]string{
	"Basic ", "pk-", "sk_live_", "rk_live_", "gho_", "ghs_", "ghu_", "ghr_", "xapp-", "xoxa-", "xoxe-", "xoxo-", "xoxr-", "xoxs-",
	"AKIA", "ASIA", "AIza", "ya29.", "eyJ", "hf_", "npm_", "pypi-AgE", "SG.", "dop_v1_", "shpat_", "lin_api_", "ntn_", "sbp_", "hvs.",
	"AGE-SECRET-KEY-",
}

// privateKey ends the first line of a private key.
const privateKey = "PRIVATE KEY-----"

// Looks reports whether a value is a secret by its looks: a token that begins
// as those of a well-known service do, or a private key.
func Looks(value string) bool {
	const enough = 9 // bytes after a prefix
	if value == "" {
		return false
	}
	first := value[0] | 0x20 // most words end here, and every word of every message that is watched is looked at
	for _, start := range starts {
		if start[0] == first && len(value) >= len(start) && strings.EqualFold(value[:len(start)], start) {
			return true
		}
	}
	for _, prefix := range prefixes {
		if prefix[0]|0x20 != first {
			continue
		}
		if rest, found := strings.CutPrefix(value, prefix); found && len(rest) >= enough {
			return true
		}
	}
	return len(value) >= len(privateKey) && strings.Contains(value, privateKey)
}
