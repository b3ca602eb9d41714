package guard

import (
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/internal/redact"
)

// secretPath is the path of a file that holds secrets.
var secretPath = regexp.MustCompile(`(?i)(?:^|[\s"'` + "`" + `(=:/\\~@])(?:\.ssh(?:[/\\]|$)|id_(?:rsa|dsa|ecdsa|ed25519)\b|\.env(?:\.(?:local|production|prod|development|staging))?\.?(?:[^\w./\\-]|$)|` +
	`\.aws[/\\](?:credentials|config)|\.netrc\b|\.npmrc\b|\.pypirc\b|\.pgpass\b|\.kube[/\\]config|\.gnupg(?:[/\\]|$)|\.docker[/\\]config\.json|\.git-credentials|` +
	`etc[/\\](?:shadow|sudoers|passwd)\b|\.config[/\\](?:gcloud|gh)[/\\]|login\.keychain|\.azure[/\\]|application_default_credentials\.json|\.(?:bash|zsh|psql|mysql)_history\b|\.vault-token|proc/self/environ|claude_desktop_config\.json|\.cursor[/\\]mcp\.json|(?:credentials|secrets)\.(?:json|ya?ml|toml)\b|[\w.-]+\.(?:pem|p12|pfx|keystore|kdbx)\b|wallet\.dat)`)

// pathSigns are parts of every text in which secretPath matches.
var pathSigns = []string{".ssh", "id_", ".env", ".aws", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".kube", ".gnupg", ".docker", ".git-c", "etc", ".config",
	"keychain", ".azure", "credentials.", "_history", "secrets.", ".vault-token", "environ", "_config.json", "mcp.json", ".pem", ".p12", ".pfx", ".keystore", ".kdbx", "wallet.dat"}

// Secrets finds what looks like a key, token or password in text, however long
// that is, and in JSON in what its strings say. Excerpts say what kind of secret
// it is, never what it is. The examples that documentation is written with are
// not secrets.
func Secrets(text string) []Finding {
	r := newReport()
	addSecrets(r, text, Where{Part: InResult})
	if text != "" && (text[0] == '{' || text[0] == '[') && strings.Contains(text, `\`) { // a line end before a token looks like a letter of it
		addSecrets(r, unquoted([]byte(text)), Where{Part: InResult})
	}
	return r.findings()
}

// addSecrets adds signals for secrets in text and, in what is about to leave,
// for paths to them.
func addSecrets(r *report, text string, at Where) {
	if kind := secretKind(text); kind != "" {
		r.add(signal{rule: "secret", weight: warnAt, where: at.Field, excerpt: kind, why: "holds what looks like a secret: " + kind})
	}
	if at.Part == InArguments {
		addSecretPaths(r, text, at)
	}
}

// addSecretPaths adds a signal for the first path to a file that holds secrets.
func addSecretPaths(r *report, text string, at Where) {
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
	redact.EachRun(text, shortest, func(start, until int) bool {
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

// secretKind returns what kind of secret text holds; "" if none.
func secretKind(text string) (kind string) {
	redact.Find(text, func(_, _ int, found string) bool {
		kind = found
		return false
	})
	return kind
}

// ReplaceSecrets returns text with what by returns in the place of each secret that [Secrets] finds in it. A private
// key is replaced with its first and last line, everything else without what says that it is a secret.
func ReplaceSecrets(text string, by func(secret, kind string) string) string {
	return redact.Replace(text, by)
}
