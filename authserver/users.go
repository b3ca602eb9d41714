package authserver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/listfile"
	"github.com/junction-mcp/junction/state/replicas"
	"golang.org/x/crypto/argon2"
)

const (
	maxUsers    = 10_000
	maxUserName = 200     // bytes
	minPassword = 8       // characters
	maxPassword = 1 << 10 // bytes
)

// Parameters of argon2id. They are the minimum that OWASP recommends: 19 MiB, two passes, one
// thread.
const (
	hashMemory = 19 << 10 // KiB
	hashPasses = 2
	hashSize   = 32
	saltSize   = 16
)

// ErrNoUser reports an unknown user or a wrong password.
var ErrNoUser = errors.New("there is no such user")

// ErrPassword reports that a new password is too short or too long.
var ErrPassword = fmt.Errorf("a password has at least %d letters, and up to %d bytes", minPassword, maxPassword)

// A User is an account that may log in.
type User struct {
	Name    string    `json:"name"`
	Hash    string    `json:"hash"` // argon2id, in the PHC format
	Scopes  []string  `json:"scopes,omitempty"`
	Created time.Time `json:"created"`

	login  string   // ID of the login that led to the user; empty without one
	groups []string // groups at the provider
}

// stamp returns a text that changes with the password.
func (u *User) stamp() string {
	if u.Hash == "" {
		return ""
	}
	return hash(u.Hash)[:16]
}

// may returns the scopes that the user has, out of the given ones.
func (u *User) may(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(scope string) bool { return !slices.Contains(u.Scopes, scope) })
}

// Users holds the users listed in a file, which other processes may change. It is safe for
// concurrent use.
type Users struct{ file *listfile.File[User] }

// OpenUsers returns the users of a file, which may not exist yet. It returns an error if the file
// cannot be read.
func OpenUsers(path string) (*Users, error) {
	file, err := listfile.Open(path, "users", func(u User) string { return u.Name })
	return &Users{file}, err
}

// SharedUsers is the subject of [replicas.Group.Follow] for the users in a store.
const SharedUsers = "authserver/users"

// OpenSharedUsers returns the users in the store of replicas.
func OpenSharedUsers(ctx context.Context, g *replicas.Group) (*Users, error) {
	file, err := listfile.OpenShared(ctx, g, SharedUsers, "users", func(u User) string { return u.Name })
	return &Users{file}, err
}

// Add adds a user with scopes.
func (u *Users) Add(ctx context.Context, name, password string, scopes []string) error {
	if name == "" || len(name) > maxUserName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("the name of a user has 1 to %d letters", maxUserName)
	}
	h, err := newHash(password)
	if err != nil {
		return err
	}
	return u.file.Change(ctx, func(all []User) ([]User, error) {
		switch {
		case indexOf(all, name) >= 0:
			return nil, fmt.Errorf("there is a user %q already", name)
		case len(all) >= maxUsers:
			return nil, fmt.Errorf("there are %d users, the limit of the file", len(all))
		}
		return append(all, User{Name: name, Hash: h, Scopes: scopes, Created: time.Now().UTC().Truncate(time.Second)}), nil
	})
}

// SetPassword changes the password of a user. Logins with the old password end.
func (u *Users) SetPassword(ctx context.Context, name, password string) error {
	h, err := newHash(password)
	if err != nil {
		return err
	}
	return u.file.Change(ctx, func(all []User) ([]User, error) {
		i := indexOf(all, name)
		if i < 0 {
			return nil, fmt.Errorf("%w: %q", ErrNoUser, name)
		}
		all[i].Hash = h
		return all, nil
	})
}

// Remove removes a user and ends the user's logins.
func (u *Users) Remove(ctx context.Context, name string) error {
	return u.file.Change(ctx, func(all []User) ([]User, error) {
		i := indexOf(all, name)
		if i < 0 {
			return nil, fmt.Errorf("%w: %q", ErrNoUser, name)
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// All returns the users, oldest first.
func (u *Users) All() ([]User, error) { return u.file.All() }

// find returns the user with a name. A user who was removed from the file is found for at most
// another second.
func (u *Users) find(name string) (User, error) {
	one, found, err := u.file.Find(name)
	if err == nil && !found {
		err = ErrNoUser
	}
	return one, err
}

func indexOf(all []User, name string) int {
	return slices.IndexFunc(all, func(u User) bool { return u.Name == name })
}

// newHash returns the hash of a new password.
func newHash(password string) (string, error) {
	if n := len([]rune(password)); n < minPassword || len(password) > maxPassword {
		return "", ErrPassword
	}
	salt := make([]byte, saltSize)
	rand.Read(salt)
	key := argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, 1, hashSize)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, hashMemory, hashPasses, text(salt), text(key)), nil
}

// matches reports whether a password matches a hash. It also accepts hashes that other programs
// made, within limits.
func matches(password, kept string) (bool, error) {
	parts := strings.Split(kept, "$")
	var version int
	var memory, passes uint32
	var threads uint8
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errors.New("the hash of a password is not an argon2id hash")
	}
	_, err := fmt.Sscanf(parts[2], "v=%d", &version)
	if err == nil {
		_, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads)
	}
	salt, fault := base64.RawStdEncoding.DecodeString(parts[4])
	want, wrong := base64.RawStdEncoding.DecodeString(parts[5])
	if errors.Join(err, fault, wrong) != nil || version != argon2.Version || passes < 1 || passes > 20 || memory > 1<<20 || threads < 1 || len(want) < 16 || len(want) > 64 {
		return false, errors.New("the hash of a password is malformed, or too expensive to check")
	}
	return subtle.ConstantTimeCompare(argon2.IDKey([]byte(password), salt, passes, memory, threads, uint32(len(want))), want) == 1, nil
}
