package changes

import (
	"strconv"
	"strings"
	"testing"
)

func TestPendingChangesAreBoundedInBytes(t *testing.T) {
	l := NewFeed().Listen(nil, "")
	defer l.Close()
	sum := 0
	for i := range 4096 {
		l.Add(Change{Method: "notifications/resources/updated", URI: strings.Repeat("x", 64<<10) + strconv.Itoa(i)})
	}
	for _, c := range l.pending {
		sum += len(c.URI)
	}
	if sum > 64<<20 {
		t.Errorf("%d MiB of URIs are pending for one listener", sum>>20)
	}
}
