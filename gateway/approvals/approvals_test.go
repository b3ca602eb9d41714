package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/ratelimit"
)

// A site is a server behind rules and a Desk.
type site struct {
	desk  *Desk
	h     mcp.Handler
	rules atomic.Pointer[policy.Policy]
	runs  atomic.Int32

	mu    sync.Mutex
	notes []note.Approval
}

func newSite(t *testing.T, all ...policy.Rule) *site {
	t.Helper()
	return newSiteWith(t, New(Options{}), all...)
}

func newSiteWith(t *testing.T, desk *Desk, all ...policy.Rule) *site {
	t.Helper()
	s := &site{desk: desk}
	s.set(t, all...)
	server := mcp.NewServer("files", "1")
	mcp.AddTool(server, "write", func(context.Context, struct{ Path, Password string }) (string, error) {
		s.runs.Add(1)
		return "done", nil
	})
	server2 := rules.Middleware(rules.Options{Server: "files", Approvals: true, Policy: func(context.Context) *policy.Policy { return s.rules.Load() }})(server)
	s.h = s.desk.Around(Server{Name: "files"})(server2)
	return s
}

func (s *site) set(t *testing.T, all ...policy.Rule) {
	t.Helper()
	p, err := policy.Compile(all, policy.Options{Default: policy.Allow})
	if err != nil {
		t.Fatal(err)
	}
	s.rules.Store(p)
}

// Note implements [mcp.NoteObserver].
func (s *site) Note(_ string, v any) {
	if a, is := v.(note.Approval); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.notes = append(s.notes, a)
	}
}

// call calls the tool as a user, and returns the text of the result and whether it is an error.
func (s *site) call(ctx context.Context, user, path string) (text string, err error) {
	req := mcp.NewRequest("tools/call", json.RawMessage(fmt.Sprintf(`{"name":"write","arguments":{"Path":%q,"Password":"hunter2"}}`, path)))
	req.Principal = &mcp.Principal{Subject: user, Issuer: "https://login.example"}
	ctx = share.With(mcp.WithNoteObserver(ctx, s), share.Key(req.Principal.Issuer, user, ""))
	result, err := s.h.Handle(ctx, req)
	if err != nil {
		return "", err
	}
	body, err := result.Encoded()
	if err != nil {
		return "", err
	}
	var r mcp.CallToolResult
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	text = string(body)
	if r.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

// begin starts a call, and returns its outcome later.
func (s *site) begin(t *testing.T, ctx context.Context, user, path string) (outcome chan error) {
	t.Helper()
	outcome = make(chan error, 1)
	go func() {
		_, err := s.call(ctx, user, path)
		outcome <- err
	}()
	synctest.Wait()
	return outcome
}

// only returns the one call that waits for a caller.
func (s *site) only(t *testing.T, a Approver) Call {
	t.Helper()
	all := s.desk.List(t.Context(), a)
	if len(all) != 1 {
		t.Fatalf("%d calls wait for %s: %+v", len(all), a.Name, all)
	}
	return all[0]
}

var (
	ask      = policy.Rule{Name: "writes", Effect: policy.Ask, Of: "role:sre", Tool: "write", Reason: "look first"}
	bob      = Approver{Name: "bob", Subject: "bob", Roles: []string{"sre"}}
	eve      = Approver{Name: "eve", Subject: "eve", Roles: []string{"sre"}}
	dba      = Approver{Name: "dan", Subject: "dan", Roles: []string{"dba"}}
	ann      = Approver{Name: "ann", Subject: "Ann", Roles: []string{"sre"}}
	operator = Approver{Name: "operator", Operator: true}
)

func TestACallRunsOnceItsRoleApprovesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, ask)
		outcome := s.begin(t, t.Context(), "ann", "a")
		q := s.only(t, bob)
		if q.Arguments != `{"Path":"a","Password":"***"}` || q.Caller != "ann" || q.Name != "write" || q.Server != "files" || q.Parts[0].Reason != "look first" || q.Until.Sub(q.Since) != 10*time.Minute {
			t.Errorf("got %+v", q)
		}
		for _, other := range []Approver{dba, ann, {Name: "none"}} {
			if all := s.desk.List(t.Context(), other); len(all) != 0 {
				t.Errorf("%s sees %+v", other.Name, all)
			}
			if _, err := s.desk.Decide(t.Context(), q.ID, other, Verdict{Approve: true}); !errors.Is(err, ErrGone) {
				t.Errorf("%s answers: %v", other.Name, err)
			}
		}
		time.Sleep(time.Minute)
		if _, err := s.desk.Decide(t.Context(), q.ID, bob, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.desk.Decide(t.Context(), q.ID, eve, Verdict{}); !errors.Is(err, ErrGone) {
			t.Errorf("the second answer: %v", err)
		}
		if err := <-outcome; err != nil || s.runs.Load() != 1 {
			t.Errorf("%v after %d runs", err, s.runs.Load())
		}
		if want := (note.Approval{Server: "files", Outcome: Approved, By: "bob", Role: "sre", Waited: time.Minute}); !slices.Equal(s.notes, []note.Approval{want}) {
			t.Errorf("noted %+v", s.notes)
		}
		// The approval was for this call.
		again := s.begin(t, t.Context(), "ann", "a")
		s.only(t, bob)
		if _, err := s.desk.Decide(t.Context(), s.only(t, bob).ID, bob, Verdict{Reason: "not\u202e today"}); err != nil {
			t.Fatal(err)
		}
		if err := <-again; err == nil || !strings.Contains(err.Error(), `a caller of the role \"sre\" refused it: not`) || strings.Contains(err.Error(), "\u202e") || s.runs.Load() != 1 {
			t.Errorf("refused: %v after %d runs", err, s.runs.Load())
		}
	})
}

func TestACallThatIsNotAnsweredIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := ask
		rule.Within = "20s"
		s := newSite(t, rule)
		began := time.Now()
		_, err := s.call(t.Context(), "ann", "a")
		if err == nil || !strings.Contains(err.Error(), `no caller of the role \"sre\" approved it within 20s: make the call again, and ask the operator of this gateway to approve it`) || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, leave := context.WithCancel(t.Context())
		outcome := s.begin(t, ctx, "ann", "a")
		id := s.only(t, bob).ID
		leave()
		if err := <-outcome; !errors.Is(err, context.Canceled) {
			t.Errorf("its caller left: %v", err)
		}
		if _, err := s.desk.Decide(t.Context(), id, bob, Verdict{Approve: true}); !errors.Is(err, ErrGone) || s.runs.Load() != 0 {
			t.Errorf("%v after %d runs", err, s.runs.Load())
		}
		if s.notes[0].Outcome != Expired || s.notes[0].Waited != 20*time.Second || s.notes[1].Outcome != Left || s.desk.places.Used() != 0 {
			t.Errorf("noted %+v, %d places", s.notes, s.desk.places.Used())
		}
	})
}

func TestEachRoleMustApprove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, ask, policy.Rule{Effect: policy.Ask, Of: "role:dba", Within: "1m"})
		outcome := s.begin(t, t.Context(), "ann", "a")
		q := s.only(t, bob)
		if q.Until.Sub(q.Since) != time.Minute || len(q.Parts) != 2 {
			t.Errorf("got %+v", q)
		}
		if _, err := s.desk.Decide(t.Context(), q.ID, bob, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(s.desk.List(t.Context(), eve)) != 0 || s.runs.Load() != 0 {
			t.Error("it waits for the wrong role, or ran")
		}
		if _, err := s.desk.Decide(t.Context(), q.ID, eve, Verdict{}); !errors.Is(err, ErrDecided) || !strings.Contains(err.Error(), "bob") {
			t.Errorf("the second answer for a role: %v", err)
		}
		if _, err := s.desk.Decide(t.Context(), q.ID, dba, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if err := <-outcome; err != nil || s.notes[0].By != "dan, bob" || s.notes[0].Role != "dba, sre" {
			t.Errorf("%v, %+v", err, s.notes)
		}
		refusing := s.begin(t, t.Context(), "ann", "a")
		if _, err := s.desk.Decide(t.Context(), s.only(t, operator).ID, dba, Verdict{}); err != nil {
			t.Fatal(err)
		}
		if err := <-refusing; err == nil || s.runs.Load() != 1 {
			t.Errorf("one role refused: %v", err)
		}
	})
}

func TestAnAnswerCanCountForEqualCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := ask
		rule.For = "10m"
		s := newSite(t, rule)
		first := s.begin(t, t.Context(), "ann", "a")
		q := s.only(t, bob)
		if _, err := s.desk.Decide(t.Context(), q.ID, bob, Verdict{Approve: true, For: time.Hour}); err == nil || !strings.Contains(err.Error(), "at most 10m") {
			t.Errorf("longer than the rule allows: %v", err)
		}
		if _, err := s.desk.Decide(t.Context(), q.ID, bob, Verdict{Approve: true, For: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		if _, err := s.call(t.Context(), "ann", "a"); err != nil || s.notes[1].By != "bob" || s.notes[1].Waited != 0 {
			t.Errorf("an equal call: %v, %+v", err, s.notes)
		}
		for name, begin := range map[string]func() chan error{
			"other arguments":    func() chan error { return s.begin(t, t.Context(), "ann", "b") },
			"another caller":     func() chan error { return s.begin(t, t.Context(), "cid", "a") },
			"after the time":     func() chan error { time.Sleep(5 * time.Minute); return s.begin(t, t.Context(), "ann", "a") },
			"a rule without for": func() chan error { s.set(t, ask); return s.begin(t, t.Context(), "ann", "a") },
		} {
			t.Log(name)
			s.set(t, rule)
			grant := s.begin(t, t.Context(), "ann", "a")
			if all := s.desk.List(t.Context(), bob); len(all) == 1 {
				if _, err := s.desk.Decide(t.Context(), all[0].ID, bob, Verdict{Approve: true, For: 5 * time.Minute}); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-grant; err != nil {
				t.Fatal(err)
			}
			waiting := begin()
			if _, err := s.desk.Decide(t.Context(), s.only(t, bob).ID, bob, Verdict{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := <-waiting; err == nil {
				t.Errorf("%s: it ran", name)
			}
		}
	})
}

// While a call waits, its rules may change. Those of now decide.
func TestRulesDecideAgainAfterTheApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, ask)
		outcome := s.begin(t, t.Context(), "ann", "a")
		s.set(t, policy.Rule{Effect: policy.Deny, Tool: "write", Reason: "frozen", When: "args.Path == 'a'"})
		if _, err := s.desk.Decide(t.Context(), s.only(t, bob).ID, bob, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if err := <-outcome; err == nil || !strings.Contains(err.Error(), "frozen") || s.runs.Load() != 0 {
			t.Errorf("now denied: %v", err)
		}
		s.set(t, ask)
		outcome = s.begin(t, t.Context(), "ann", "a")
		s.set(t, ask, policy.Rule{Effect: policy.Ask, Of: "role:dba"})
		if _, err := s.desk.Decide(t.Context(), s.only(t, bob).ID, bob, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := s.desk.Decide(t.Context(), s.only(t, dba).ID, dba, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if err := <-outcome; err != nil || s.runs.Load() != 1 {
			t.Errorf("another role is asked, too: %v", err)
		}
	})
}

func TestCallersAnswerForThemselvesOnlyIfTheRuleAllowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := ask
		own.Self = true
		s := newSite(t, own)
		outcome := s.begin(t, t.Context(), "ann", "a")
		id := s.only(t, ann).ID
		s.set(t, ask) // the rule changes while the call waits
		if _, err := s.desk.Decide(t.Context(), id, ann, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(s.desk.List(t.Context(), ann)) != 0 {
			t.Error("ann is asked again")
		}
		if _, err := s.desk.Decide(t.Context(), s.only(t, bob).ID, bob, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if err := <-outcome; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitingCallsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, ask)
		ctx, leave := context.WithCancel(t.Context())
		var all []chan error
		for i := range maxWaitingOfOne + 1 {
			all = append(all, s.begin(t, ctx, "ann", fmt.Sprint(i)))
		}
		if err := <-all[maxWaitingOfOne]; err == nil || !strings.Contains(err.Error(), "too many calls wait") {
			t.Errorf("one more: %v", err)
		}
		if s.notes[0].Outcome != Full || !s.notes[0].Counted {
			t.Errorf("noted %+v", s.notes)
		}
		other := s.begin(t, ctx, "cid", "a")
		if len(s.desk.List(t.Context(), bob)) != maxWaitingOfOne+1 {
			t.Error("another caller's call does not wait")
		}
		large := strings.Repeat("x", maxShown)
		if _, err := s.call(ctx, "cid", large); err == nil || !strings.Contains(err.Error(), "can review at most") {
			t.Errorf("large arguments: %v", err)
		}
		leave()
		for _, one := range append(all[:maxWaitingOfOne], other) {
			<-one
		}
		if s.desk.places.Used() != 0 || len(s.desk.waiting) != 0 {
			t.Error("places are left")
		}
	})
}

// Many callers answer at once: exactly one answer counts.
func TestTheFirstAnswerCounts(t *testing.T) {
	s := newSite(t, ask)
	for range 50 {
		outcome := make(chan error, 1)
		go func() { _, err := s.call(t.Context(), "ann", "a"); outcome <- err }()
		var all []Call
		for len(all) == 0 {
			all = s.desk.List(t.Context(), bob)
		}
		var counted atomic.Int32
		var refused atomic.Bool
		var answering sync.WaitGroup
		for i := range 8 {
			answering.Go(func() {
				if _, err := s.desk.Decide(t.Context(), all[0].ID, bob, Verdict{Approve: i%2 == 0}); err == nil {
					counted.Add(1)
					refused.Store(i%2 == 1)
				}
			})
		}
		answering.Wait()
		if err := <-outcome; counted.Load() != 1 || (err != nil) != refused.Load() {
			t.Fatalf("%d answers counted: %v", counted.Load(), err)
		}
	}
}

// A call that asks its client after the approval goes on in further rounds without another one. A
// client that sends a round again needs another one.
func TestFurtherRoundsNeedNoApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, ask)
		inner := s.rules.Load()
		h := s.desk.Around(Server{Name: "files"})(rules.Middleware(rules.Options{Server: "files", Approvals: true, Policy: func(context.Context) *policy.Policy { return inner }})(
			mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
				if req.Method != "tools/call" {
					return mcp.Result{JSON: json.RawMessage(`{"tools":[]}`)}, nil
				}
				if s.runs.Add(1) < 3 {
					return mcp.Result{}, mcp.ErrInputRequired
				}
				return mcp.Result{JSON: json.RawMessage(`{"content":[]}`)}, nil
			})))
		state := new(mcp.State)
		round := func(n int, state *mcp.State) chan error {
			req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"write","arguments":{}}`))
			req.Principal, req.Round, req.State = &mcp.Principal{Subject: "ann"}, n, state
			done := make(chan error, 1)
			go func() { _, err := h.Handle(t.Context(), req); done <- err }()
			synctest.Wait()
			return done
		}
		first := round(0, state)
		if _, err := s.desk.Decide(t.Context(), s.only(t, bob).ID, bob, Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if err := <-first; !errors.Is(err, mcp.ErrInputRequired) {
			t.Fatal(err)
		}
		if !state.Bound() {
			t.Error("the next round may reach a replica that does not know the approval")
		}
		old := new(mcp.State)
		old.Set(savedRound, state.Get(savedRound))
		if err := <-round(1, state); !errors.Is(err, mcp.ErrInputRequired) {
			t.Fatalf("the second round: %v", err)
		}
		if err := <-round(2, state); err != nil {
			t.Fatalf("the last round: %v", err)
		}
		again := round(1, old)
		if _, err := s.desk.Decide(t.Context(), s.only(t, bob).ID, bob, Verdict{}); err != nil {
			t.Fatal(err)
		}
		if <-again; s.runs.Load() != 3 {
			t.Errorf("%d runs", s.runs.Load())
		}
	})
}

// A call counts once in limits inside, and holds no turn of them while it waits.
func TestAWaitingCallHoldsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, ask)
		server := mcp.NewServer("files", "1")
		mcp.AddTool(server, "write", func(context.Context, struct{ Path, Password string }) (string, error) { return "done", nil })
		limited := ratelimit.Middleware(ratelimit.Options{Calls: 2, In: time.Hour, Concurrent: 1})
		s.h = s.desk.Around(Server{Name: "files"})(limited(rules.Middleware(rules.Options{Server: "files", Approvals: true, Policy: func(context.Context) *policy.Policy { return s.rules.Load() }})(server)))
		first, second := s.begin(t, t.Context(), "ann", "a"), s.begin(t, t.Context(), "ann", "b")
		if _, err := s.call(t.Context(), "ann", "c"); err == nil || !strings.Contains(err.Error(), "too many calls") {
			t.Errorf("the third one: %v", err)
		}
		for _, q := range s.desk.List(t.Context(), bob) {
			if _, err := s.desk.Decide(t.Context(), q.ID, bob, Verdict{Approve: true}); err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range []chan error{first, second} {
			if err := <-one; err != nil {
				t.Errorf("an approved call: %v", err)
			}
		}
	})
}
