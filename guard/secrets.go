package guard

import (
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/internal/redact"
)

// secretPath matches the path of a file with secrets.
var secretPath = regexp.MustCompile(`(?i)(?:^|[\s"'` + "`" + `(=:/\\~@])(?:\.ssh(?:[/\\]|$)|id_(?:rsa|dsa|ecdsa|ed25519)\b|\.env(?:\.(?:local|production|prod|development|staging))?\.?(?:[^\w./\\-]|$)|` +
	`\.aws[/\\](?:credentials|config)|\.netrc\b|\.npmrc\b|\.pypirc\b|\.pgpass\b|\.kube[/\\]config|\.gnupg(?:[/\\]|$)|\.docker[/\\]config\.json|\.git-credentials|` +
	`etc[/\\](?:shadow|sudoers|passwd)\b|\.config[/\\](?:gcloud|gh)[/\\]|login\.keychain|\.azure[/\\]|application_default_credentials\.json|\.(?:bash|zsh|psql|mysql)_history\b|\.vault-token|proc/self/environ|claude_desktop_config\.json|\.cursor[/\\]mcp\.json|(?:credentials|secrets)\.(?:json|ya?ml|toml)\b|[\w.-]+\.(?:pem|p12|pfx|keystore|kdbx)\b|wallet\.dat)`)

// pathSigns lists strings for a quick check: every text that secretPath matches contains at least
// one of them.
var pathSigns = []string{".ssh", "id_", ".env", ".aws", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".kube", ".gnupg", ".docker", ".git-c", "etc", ".config",
	"keychain", ".azure", "credentials.", "_history", "secrets.", ".vault-token", "environ", "_config.json", "mcp.json", ".pem", ".p12", ".pfx", ".keystore", ".kdbx", "wallet.dat"}

// Secrets finds possible keys, tokens and passwords in text of any length, also in the strings of
// JSON. Excerpts contain the kind of a secret, never the secret. Common examples from documentation
// do not count.
func Secrets(text string) []Finding {
	r := newReport()
	addSecrets(r, text, Where{Part: InResult})
	if text != "" && (text[0] == '{' || text[0] == '[') && strings.Contains(text, `\`) { // the n of an escaped line end looks like the first letter of a token
		addSecrets(r, unquoted([]byte(text)), Where{Part: InResult})
	}
	return r.findings()
}

// addSecrets adds signals for secrets in text. In outgoing arguments it also adds signals for paths
// to secrets.
func addSecrets(r *report, text string, at Where) {
	if kind := secretKind(text); kind != "" {
		r.add(signal{rule: "secret", weight: warnAt, where: at.Field, excerpt: kind, why: "holds what looks like a secret: " + kind})
	}
	if at.Part == InArguments {
		addSecretPaths(r, text, at)
	}
}

// addSecretPaths adds a signal for the first path to a file with secrets.
func addSecretPaths(r *report, text string, at Where) {
	eachSecretPath(text, func(start, end, until int) bool {
		if strings.HasPrefix(text[end:until], ".pub") {
			return true
		}
		r.add(signal{rule: "secret-path", weight: warnAt, where: at.Field, excerpt: excerpt(text, start, end), why: "names a file that holds secrets"})
		return false
	})
}

// eachSecretPath calls f with the positions of paths to files with secrets, until f returns false.
// The text from start to end identifies the file, and the path may continue up to until.
func eachSecretPath(text string, f func(start, end, until int) bool) {
	const shortest = len(".env")
	redact.EachRun(text, shortest, func(start, until int) bool {
		run := text[start:until]
		if !strings.ContainsAny(run[:len(run)-1], "./\\_") || !mayBePath(strings.ToLower(run)) {
			return true
		}
		found := secretPath.FindStringIndex(run)
		return found == nil || f(start+found[0], start+found[1], until)
	})
}

// mayBePath reports whether a lower-case run contains any of pathSigns.
func mayBePath(run string) bool {
	for _, sign := range pathSigns {
		if strings.Contains(run, sign) {
			return true
		}
	}
	return false
}

// secretKind returns the kind of a secret in text, or "".
func secretKind(text string) (kind string) {
	redact.Find(text, func(_, _ int, found string) bool {
		kind = found
		return false
	})
	return kind
}

// ReplaceSecrets returns text with each secret that [Secrets] finds replaced by the result of by. A
// private key is replaced with its first and last line. Any other secret is replaced without the
// text that identifies it.
func ReplaceSecrets(text string, by func(secret, kind string) string) string {
	return redact.Replace(text, by)
}
