package results

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// A user with many bytes loses the oldest ones, and another user keeps all texts that have links.
func TestStoreIsShared(t *testing.T) {
	for name, users := range map[string][2]string{
		"principals": {share.Key("i", "eve", ""), share.Key("i", "ada", "")},
		"addresses":  {share.Key("", "", "192.0.2.1:1"), share.Key("", "", "192.0.2.2:1")},
	} {
		for _, size := range []int{1, 10_000} {
			s := NewStore(40 * (size + textCost))
			keep := func(user, size int) string {
				return s.add(t.Context(), strings.Repeat("x", size), "text/plain", "s", users[user], mcp.Ownership{})
			}
			isKept := func(id string) bool {
				_, err := s.get(t.Context(), id, "s", nil)
				return err == nil
			}
			hers := keep(1, size)
			var eves []string
			for range 200 {
				eves = append(eves, keep(0, size))
			}
			if !isKept(hers) {
				t.Errorf("%s, %d bytes: hers is not kept", name, size)
			}
			large := keep(1, 30*(size+textCost)) // more than eve has then
			kept := 0
			for _, id := range eves {
				if isKept(id) {
					kept++
				}
			}
			if !isKept(large) || !isKept(eves[len(eves)-1]) || kept < 9 || kept > 39 {
				t.Errorf("%s, %d bytes: of the large one is kept: %t; of eve's %d", name, size, isKept(large), kept)
			}
			if used := s.bytes.Used(); used > s.max {
				t.Errorf("%s: %d bytes are kept of %d", name, used, s.max)
			}
			others := NewStore(40 * (size + textCost))
			for user := range 3 {
				for range 13 {
					others.add(t.Context(), strings.Repeat("x", size), "text/plain", "s", fmt.Sprint(user), mcp.Ownership{})
				}
			}
			id := others.add(t.Context(), strings.Repeat("x", 20*size), "text/plain", "s", "new", mcp.Ownership{})
			if _, err := others.get(t.Context(), id, "s", nil); err != nil {
				t.Errorf("%s, %d bytes: of a user who had nothing the text is gone at once: %v", name, size, err)
			}
		}
	}
}
