package guard

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A shape is how a kind of secret looks.
type shape struct {
	kind    string
	sign    string // a part of every secret of the kind, to look for first
	pattern *regexp.Regexp
}

// theShapes are compiled at their first use.
var theShapes = sync.OnceValue(func() []shape {
	return []shape{
		{"GitHub token", "gh", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{30,255}\b`)},
		{"GitHub token", "github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{22,255}\b`)},
		{"GitLab token", "glpat-", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
		{"AWS access key", "IA", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`)},
		{"OpenAI or Anthropic key", "sk-", regexp.MustCompile(`\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}`)},
		{"Slack token", "xox", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
		{"Slack webhook", "hooks.slack.com", regexp.MustCompile(`hooks\.slack\.com/services/T\w+/B\w+/\w{16,}`)},
		{"Stripe key", "_live_", regexp.MustCompile(`\b[rs]k_live_[A-Za-z0-9]{16,}`)},
		{"Google key", "AIza", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`)},
		{"Google token", "ya29.", regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{20,}`)},
		{"npm token", "npm_", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`)},
		{"PyPI token", "pypi-", regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{40,}`)},
		{"Hugging Face token", "hf_", regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}\b`)},
		{"SendGrid key", "SG.", regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`)},
		{"DigitalOcean token", "dop_v1_", regexp.MustCompile(`\bdop_v1_[a-f0-9]{64}\b`)},
		{"Slack app token", "xapp-", regexp.MustCompile(`\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}`)},
		{"Shopify token", "shp", regexp.MustCompile(`\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b`)},
		{"Databricks token", "dapi", regexp.MustCompile(`\bdapi[a-f0-9]{32}\b`)},
		{"Linear key", "lin_api_", regexp.MustCompile(`\blin_api_[A-Za-z0-9]{32,}`)},
		{"Notion token", "ntn_", regexp.MustCompile(`\bntn_[A-Za-z0-9]{40,}`)},
		{"Supabase token", "sbp_", regexp.MustCompile(`\bsbp_[a-f0-9]{40}\b`)},
		{"Vault token", "hvs.", regexp.MustCompile(`\bhvs\.[A-Za-z0-9_-]{24,}`)},
		{"age key", "AGE-SECRET-KEY-", regexp.MustCompile(`\bAGE-SECRET-KEY-1[A-Z0-9]{50,}`)},
		{"Telegram bot token", ":AA", regexp.MustCompile(`\b\d{8,10}:AA[A-Za-z0-9_-]{32,}`)},
		{"Azure storage key", "AccountKey=", regexp.MustCompile(`AccountKey=[A-Za-z0-9+/]{60,}`)},
		{"JSON web token", "eyJ", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
	}
})

// privateKey is the first line of a private key.
var privateKey = regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----`)

// keyEnd is its last line.
var keyEnd = regexp.MustCompile(`-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----`)

// secretPath is the path of a file that holds secrets.
var secretPath = regexp.MustCompile(`(?i)(?:^|[\s"'` + "`" + `(=:/\\~@])(?:\.ssh(?:[/\\]|$)|id_(?:rsa|dsa|ecdsa|ed25519)\b|\.env(?:\.(?:local|production|prod|development|staging))?\.?(?:[^\w./\\-]|$)|` +
	`\.aws[/\\](?:credentials|config)|\.netrc\b|\.npmrc\b|\.pypirc\b|\.pgpass\b|\.kube[/\\]config|\.gnupg(?:[/\\]|$)|\.docker[/\\]config\.json|\.git-credentials|` +
	`etc[/\\](?:shadow|sudoers|passwd)\b|\.config[/\\](?:gcloud|gh)[/\\]|login\.keychain|\.azure[/\\]|application_default_credentials\.json|\.(?:bash|zsh|psql|mysql)_history\b|\.vault-token|proc/self/environ|claude_desktop_config\.json|\.cursor[/\\]mcp\.json|(?:credentials|secrets)\.(?:json|ya?ml|toml)\b|[\w.-]+\.(?:pem|p12|pfx|keystore|kdbx)\b|wallet\.dat)`)

// pathSigns are parts of every text in which secretPath matches.
var pathSigns = []string{".ssh", "id_", ".env", ".aws", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".kube", ".gnupg", ".docker", ".git-c", "etc", ".config",
	"keychain", ".azure", "credentials.", "_history", "secrets.", ".vault-token", "environ", "_config.json", "mcp.json", ".pem", ".p12", ".pfx", ".keystore", ".kdbx", "wallet.dat"}

// Secrets finds what looks like a key, token or password in text. Excerpts say
// what kind of secret it is, never what it is. The examples that
// documentation is written with are not secrets.
func Secrets(text string) []Finding {
	r := newReport()
	addSecrets(r, r.take(text, ""), Where{Part: InResult})
	return r.findings()
}

// addSecrets adds signals for secrets in text and, in what is about to leave,
// for paths to them.
func addSecrets(r *report, text string, at Where) {
	if kind := secretKind(text); kind != "" {
		r.add(signal{rule: "secret", weight: warnAt, where: at.Field, excerpt: kind, why: "holds what looks like a secret: " + kind})
	}
	if at.Part != InArguments {
		return
	}
	eachSecretPath(text, func(start, end, until int) bool {
		if strings.HasPrefix(text[end:until], ".pub") {
			return true
		}
		r.add(signal{rule: "secret-path", weight: warnAt, where: at.Field, excerpt: excerpt(text, start, end), why: "names a file that holds secrets"})
		return false
	})
}

// eachSecretPath calls f with the places of paths to files that hold secrets, from start to end of what
// tells that they do and until where they may go on, until it returns false.
func eachSecretPath(text string, f func(start, end, until int) bool) {
	const shortest = len(".env")
	eachRun(text, shortest, func(start, until int) bool {
		run := text[start:until]
		if !strings.ContainsAny(run[:len(run)-1], "./\\_") || !mayBePath(strings.ToLower(run)) {
			return true
		}
		found := secretPath.FindStringIndex(run)
		return found == nil || f(start+found[0], start+found[1], until)
	})
}

// mayBePath reports whether a run in lower case has any of pathSigns.
func mayBePath(run string) bool {
	for _, sign := range pathSigns {
		if strings.Contains(run, sign) {
			return true
		}
	}
	return false
}

// eachRun calls f with the places of runs without white space that have at
// least shortest bytes, until it returns false.
func eachRun(text string, shortest int, f func(start, end int) bool) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] > ' ' {
			continue
		}
		if i-start >= shortest && !f(start, i) {
			return
		}
		start = i + 1
	}
}

// secretKind returns what kind of secret text holds; "" if none.
func secretKind(text string) (kind string) {
	eachSecret(text, func(_, _ int, found string) bool {
		kind = found
		return false
	})
	return kind
}

// ReplaceSecrets returns text with what by returns in the place of each secret that [Secrets] finds in it. A private
// key is replaced with its first and last line, everything else without what says that it is a secret.
func ReplaceSecrets(text string, by func(secret, kind string) string) string {
	type place struct {
		start, end int
		kind       string
	}
	var places []place
	eachSecret(text, func(start, end int, kind string) bool {
		places = append(places, place{start, end, kind})
		return true
	})
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	var out strings.Builder
	at := 0
	for _, p := range places {
		if p.start < at { // within one that was replaced, or overlapping it: then the rest of it
			p.start = at
		}
		if p.end <= p.start {
			continue
		}
		out.WriteString(text[at:p.start])
		out.WriteString(by(text[p.start:p.end], p.kind))
		at = p.end
	}
	if at == 0 {
		return text
	}
	return out.String() + text[at:]
}

// eachSecret calls f with the places of secrets, kind by kind, until it returns false.
func eachSecret(text string, f func(start, end int, kind string) bool) {
	if strings.Contains(text, "PRIVATE KEY") && !eachPrivateKey(text, f) {
		return
	}
	const shortest = 15 // of a token, with what stands around it
	more := true
	eachRun(text, shortest, func(start, end int) bool {
		more = eachToken(text[start:end], func(from, to int, kind string) bool { return f(start+from, start+to, kind) })
		return more
	})
	if more && eachAssigned(text, f) && eachAuthorization(text, f) {
		eachUserInfo(text, f)
	}
}

// eachPrivateKey calls f with the places of private keys, and reports whether it always returned true. So do those below.
func eachPrivateKey(text string, f func(start, end int, kind string) bool) bool {
	for at := 0; ; {
		found := privateKey.FindStringIndex(text[at:])
		if found == nil {
			return true
		}
		start, end := at+found[0], len(text)
		if last := keyEnd.FindStringIndex(text[at+found[1]:]); last != nil {
			end = at + found[1] + last[1]
		}
		if !f(start, end, "private key") {
			return false
		}
		at = end
	}
}

// eachToken finds tokens in a text without white space.
func eachToken(run string, f func(start, end int, kind string) bool) bool {
	for _, s := range theShapes() {
		if !strings.Contains(run, s.sign) {
			continue
		}
		for at := 0; ; {
			found := s.pattern.FindStringIndex(run[at:])
			if found == nil {
				break
			}
			start, end := at+found[0], at+found[1]
			if !isExample(run[start:end]) && !f(start, end, s.kind) {
				return false
			}
			at = end
		}
	}
	return true
}

// eachAuthorization finds the values of authorization headers.
func eachAuthorization(text string, f func(start, end int, kind string) bool) bool {
	for _, scheme := range []string{"earer ", "asic "} {
		for i := 0; ; {
			next := strings.Index(text[i:], scheme)
			if next < 0 {
				break
			}
			i += next + len(scheme)
			value := text[i:min(len(text), i+500)]
			end := strings.IndexFunc(value, func(r rune) bool {
				return r >= utf8.RuneSelf || !isBase64(byte(r)) && strings.IndexByte("=.~", byte(r)) < 0
			})
			if end >= 0 {
				value = value[:end]
			}
			if len(value) < 20 || !looksRandom(value) || isExample(value) {
				continue
			}
			start := i
			i = wholeValue(text, i+len(value), func(c byte) bool { return isBase64(c) || strings.IndexByte("=.~", c) >= 0 })
			if !f(start, i, "authorization header") {
				return false
			}
		}
	}
	return true
}

// eachUserInfo finds passwords in URLs.
func eachUserInfo(text string, f func(start, end int, kind string) bool) bool {
	for i := 0; ; {
		next := strings.Index(text[i:], "://")
		if next < 0 {
			return true
		}
		i += next + len("://")
		authority := text[i:min(len(text), i+300)]
		if end := strings.IndexAny(authority, " \t\r\n/?#\"'<>`"); end >= 0 {
			authority = authority[:end]
		}
		at := strings.LastIndexByte(authority, '@')
		if at < 0 {
			continue
		}
		user, password, found := strings.Cut(authority[:at], ":")
		if found && user != "" && len(password) >= 3 && !isExample(password) && !strings.EqualFold(password, "password") && !strings.EqualFold(password, "pass") &&
			!f(i+len(user)+1, i+at, "password in a URL") {
			return false
		}
	}
}

// secretNames end the names of settings that hold secrets, letters only.
var secretNames = []string{"password", "passwd", "secret", "token", "apikey", "accesskey", "privatekey", "secretkey", "credential", "credentials"}

// endsValue are the bytes that end what is given to a setting.
const endsValue = " \t\r\n\"',;)}]<>"

// wholeValue is where the value ends that goes on at a place, if it does: only the beginning of one is looked at.
func wholeValue(text string, at int, within func(byte) bool) int {
	for at < len(text) && within(text[at]) {
		at++
	}
	return at
}

// eachAssigned finds random values that are given to settings with the
// name of a secret: "api_key = …", "token: …".
func eachAssigned(text string, f func(start, end int, kind string) bool) bool {
	const long = 200
	for i := 0; i < len(text); i++ {
		if text[i] != '=' && text[i] != ':' || !namesSecret(text[max(0, i-40):i]) {
			continue
		}
		rest := text[i+1 : min(len(text), i+1+long)]
		value := strings.TrimLeft(rest, " \t\"'=")
		start := i + 1 + len(rest) - len(value)
		if end := strings.IndexAny(value, endsValue); end >= 0 {
			value = value[:end]
		}
		if len(value) < 12 || !looksRandom(value) || isExample(value) {
			continue
		}
		i = wholeValue(text, start+len(value), func(c byte) bool { return strings.IndexByte(endsValue, c) < 0 })
		if !f(start, i, "value of a password, token or key") {
			return false
		}
	}
	return true
}

// namesSecret reports whether text ends in the name of a secret.
func namesSecret(text string) bool {
	text = strings.TrimRight(text, " \t\"'")
	var letters [40]byte // of the name, in lower case, at the end
	at := len(letters)
	for i := len(text) - 1; i >= 0 && at > 0 && isNameByte(text[i]); i-- {
		if isLetter(text[i]) {
			at--
			letters[at] = text[i] | 0x20
		}
	}
	for _, secret := range secretNames {
		if bytes.HasSuffix(letters[at:], []byte(secret)) {
			return true
		}
	}
	return false
}

// isExample reports whether a secret is one of those in documentation.
func isExample(s string) bool {
	upper := strings.ToUpper(s)
	for _, mark := range []string{"EXAMPLE", "XXXX", "YOUR", "PLACEHOLDER", "REDACTED", "CHANGEME", "****", "....", "1234567890ABCDEF", "ABCDEFGH", "USER:PASS", "<", "${"} {
		if strings.Contains(upper, mark) {
			return true
		}
	}
	return false
}

// looksRandom reports whether s has the mixture of characters of a generated
// value: digits and letters, and at least 3 bits for each.
func looksRandom(s string) bool {
	var counts [128]int
	digits, letters := 0, 0
	for i := range len(s) {
		counts[s[i]&0x7f]++
		switch {
		case s[i] >= '0' && s[i] <= '9':
			digits++
		case isLetter(s[i]):
			letters++
		}
	}
	if digits < 2 || letters < 2 {
		return false
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= 3
}
