package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/seal"
)

// CheckStateKeys returns an error for a key that is too short or occurs twice. The error does not
// contain the keys.
func CheckStateKeys[K ~string | ~[]byte](keys []K) error {
	for i, key := range keys {
		if len(key) < seal.KeySize {
			return fmt.Errorf("stateKeys[%d]: expected at least %d bytes, got %d; openssl rand -hex 32 makes one", i, seal.KeySize, len(key))
		}
		if first := slices.IndexFunc(keys, func(other K) bool { return string(other) == string(key) }); first < i {
			return fmt.Errorf("stateKeys[%d]: it equals stateKeys[%d]; remove one", i, first)
		}
	}
	return nil
}

// checkStateKeys checks the keys that are in the settings themselves. The others can be checked
// once they are read.
func (s *Settings) checkStateKeys() error {
	padded := make([]string, len(s.StateKeys))
	for i, key := range s.StateKeys {
		if padded[i] = key; referenceText().MatchString(key) {
			padded[i] = fmt.Sprintf("%*s", seal.KeySize, key)
		}
	}
	return CheckStateKeys(padded)
}

// PeerName is the prefix of a peer that is a name with the addresses of several replicas.
const PeerName = "dns+"

// checkPeers returns an error for peers that cannot be reached.
func (s *Settings) checkPeers() error {
	if len(s.Peers) > 0 && len(s.StateKeys) == 0 {
		return errors.New("peers: they go with stateKeys, by which replicas know the sessions of each other")
	}
	for i, peer := range s.Peers {
		if name, is := strings.CutPrefix(peer, PeerName); is {
			if u, err := url.Parse(name); err != nil || !isOrigin(name) || u.Port() == "" || net.ParseIP(u.Hostname()) != nil {
				return fmt.Errorf("peers[%d]: expected a name with a port such as dns+http://junction-peers:7717 or dns+https://junction-peers:7717, got %q", i, peer)
			}
			continue
		}
		if !isOrigin(peer) {
			return fmt.Errorf("peers[%d]: expected an origin such as http://10.0.0.2:7717, got %q", i, peer)
		}
	}
	return nil
}

// checkState returns an error for a store without keys. Its content is sealed, so that readers of the
// store can use none of its secrets.
func (s *Settings) checkState() error {
	switch {
	case s.State == nil:
		return nil
	case s.State.URL == "":
		return errors.New("state.url: expected the URL of a store, such as sqlite:/srv/junction/shared.db")
	case len(s.StateKeys) == 0:
		return errors.New("state.url: it needs stateKeys, which seal the secrets in the store; openssl rand -hex 32 makes one")
	}
	return nil
}
