package auth

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A silentServer never responds.
type silentServer struct{ time time.Duration }

func (h silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(h.time):
	case <-r.Context().Done():
	}
	return nil, errors.New("no response")
}

// If the keys could never be read, concurrent requests do not read them one after the other. The
// result of one read serves all, even a failure.
func TestRequestsDoNotQueueForKeysThatCannotBeRead(t *testing.T) {
	g := newGiver(t)
	token := g.token(nil)
	synctest.Test(t, func(t *testing.T) {
		const one = 100 * time.Millisecond
		v := JWT(JWTOptions{Issuer: g.URL, Keys: g.URL + "/keys", HTTP: &http.Client{Transport: silentServer{one}}})
		began := time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := v.Verify(t.Context(), token, resource); !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 5*one {
			t.Errorf("20 requests took %v, where one look takes %v: the last of them waits for all others, 10 s each", took, one)
		}
	})
}
