package launch

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/state"
)

const (
	MaxSecret = 64 << 10 // bytes of a secret
)

const (
	SecretKeys = "secret/" // prefix of their keys in the store
)

// keptSecrets holds the opened store of the user's secrets.
type keptSecrets struct {
	mu    sync.Mutex
	store state.Store // nil until its first use
	ring  *seal.Ring
}

// OpenSecrets opens the user's secrets, once. With create, it creates a missing store; otherwise
// the error is [state.ErrNotFound].
func (l *Launcher) OpenSecrets(ctx context.Context, create bool) (state.Store, *seal.Ring, error) {
	s := &l.secrets
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, s.ring, nil
	}
	store, key, err := l.OpenLogins(create)(ctx)
	if err != nil {
		return nil, nil, err
	}
	ring, err := seal.NewRing(key)
	if err != nil {
		return nil, nil, err
	}
	s.store, s.ring = store, ring
	return store, ring, nil
}

// Secret returns a secret of the user for a configuration, and hides it in output.
func (l *Launcher) Secret(ctx context.Context, name string) (string, error) {
	store, ring, err := l.OpenSecrets(ctx, false)
	var kept state.Entry
	if err == nil {
		kept, err = store.Get(ctx, SecretKeys+name)
	}
	if errors.Is(err, state.ErrNotFound) || err == nil && CheckSecretName(name) != nil {
		return "", fmt.Errorf("it is not kept; junction secret set %s keeps it", plaintext.ShellWord(name))
	}
	if err != nil {
		return "", err
	}
	value, err := ring.Open(string(kept.Value), []byte(SecretKeys+name))
	if err != nil {
		return "", fmt.Errorf("it cannot be opened with the present key; junction secret set %s keeps it anew", plaintext.ShellWord(name))
	}
	l.Hide(string(value))
	return string(value), nil
}

// secretName matches the names of secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,100}$`) })

// CheckSecretName returns a usage error for an invalid name of a secret.
func CheckSecretName(name string) error {
	if !secretName().MatchString(name) {
		return commandline.Errorf("expected a name of up to 100 letters, digits, _, . and -, got %q", name)
	}
	return nil
}
