package kept

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

func TestAnswersAreKeptForAWhileAndWithinBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &Answers{Prefix: "answer://test/", Most: 100, Age: time.Minute}
		get := func(uri string) *mcp.ReadResourceResult {
			got, err := k.Read(t.Context(), uri, nil)
			if err != nil && !errors.Is(err, mcp.ErrResourceNotFound) {
				t.Error(err)
			}
			return got
		}
		first := k.Put("", "text/plain", true, make([]byte, 60))
		time.Sleep(30 * time.Second)
		second := k.Put("", "text/plain", true, make([]byte, 30))
		if get(first) == nil || get(second) == nil || first == second {
			t.Error("both fit")
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if k.held != 30 || get(first) != nil || get(second) == nil {
			t.Errorf("the first is too old: %d bytes are held", k.held)
		}
		third := k.Put(".bin", "image/png", false, make([]byte, 90))
		if got := get(third); get(second) != nil || got == nil || len(got.Contents[0].Blob) != 90 || got.Contents[0].URI != third {
			t.Error("the oldest goes first")
		}
		if k.Put("", "text/plain", true, make([]byte, 101)) != "" || get(third) == nil {
			t.Error("what cannot fit is not kept, and drops nothing")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(k.queue) != 0 || k.held != 0 || k.timer != nil {
			t.Error("nothing is left")
		}
		last := k.Put("", "text/plain", true, make([]byte, 10))
		k.Close()
		late := k.Put("", "text/plain", true, make([]byte, 10))
		if late == "" || get(last) != nil || get(late) != nil || k.held != 0 || k.timer != nil {
			t.Error("a closed one keeps something")
		}
	})
}
