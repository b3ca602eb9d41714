package guard

import (
	"bytes"
	"math"
	"regexp"
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
func secretKind(text string) string {
	if strings.Contains(text, "PRIVATE KEY") && privateKey.MatchString(text) {
		return "private key"
	}
	const shortest = 15 // of a token, with what stands around it
	kind := ""
	eachRun(text, shortest, func(start, end int) bool {
		kind = tokenKind(text[start:end])
		return kind == ""
	})
	if kind != "" {
		return kind
	}
	if assignsSecret(text) {
		return "value of a password, token or key"
	}
	if hasAuthorization(text) {
		return "authorization header"
	}
	if hasUserInfo(text) {
		return "password in a URL"
	}
	return ""
}

// tokenKind returns what kind of token is in a text without white space.
func tokenKind(run string) string {
	for _, s := range theShapes() {
		if !strings.Contains(run, s.sign) {
			continue
		}
		for _, found := range s.pattern.FindAllString(run, 8) {
			if !isExample(found) {
				return s.kind
			}
		}
	}
	return ""
}

// hasAuthorization reports whether text has an authorization header's value.
func hasAuthorization(text string) bool {
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
			if len(value) >= 20 && looksRandom(value) && !isExample(value) {
				return true
			}
		}
	}
	return false
}

// hasUserInfo reports whether text has a URL with a password in it.
func hasUserInfo(text string) bool {
	for i := 0; ; {
		next := strings.Index(text[i:], "://")
		if next < 0 {
			return false
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
		if found && user != "" && len(password) >= 3 && !isExample(password) && !strings.EqualFold(password, "password") && !strings.EqualFold(password, "pass") {
			return true
		}
	}
}

// secretNames end the names of settings that hold secrets, letters only.
var secretNames = []string{"password", "passwd", "secret", "token", "apikey", "accesskey", "privatekey", "secretkey", "credential", "credentials"}

// assignsSecret reports whether text gives a random value to a setting with
// the name of a secret: "api_key = …", "token: …".
func assignsSecret(text string) bool {
	const long = 200
	for i := 0; i < len(text); i++ {
		if text[i] != '=' && text[i] != ':' || !namesSecret(text[max(0, i-40):i]) {
			continue
		}
		value := strings.TrimLeft(text[i+1:min(len(text), i+1+long)], " \t\"'=")
		end := strings.IndexAny(value, " \t\r\n\"',;)}]<>")
		if end < 0 {
			end = len(value)
		}
		if value = value[:end]; len(value) >= 12 && looksRandom(value) && !isExample(value) {
			return true
		}
	}
	return false
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
