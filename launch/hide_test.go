package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAVariableIsASecretByItsNameOrItsLooks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for pair, want := range map[string]bool{
		"API_KEY=abc": true, "DB_PASSWORD=x": true, "SSH_KEY_FILE=" + file: false, "GIT_AUTHOR_NAME=Ada Lovelace": false,
		"PATH=/usr/bin": false, "X=ghp_0123456789": true, "AUTH=/not/there": true,
	} {
		name, value, _ := strings.Cut(pair, "=")
		if got := isSecretVariable(name, value); got != want {
			t.Errorf("%s is a secret: %v, want %v", pair, got, want)
		}
	}
}
