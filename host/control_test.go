package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// books is a server with a tool, a resource and instructions, that is to be reviewed.
func books() Server {
	s := mcp.NewServerWith("library", "1", mcp.ServerOptions{Instructions: "Books are here."})
	mcp.AddToolWith(s, mcp.Tool{Name: "find", Description: "Find a book.", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "found", nil })
	s.AddResource(mcp.Resource{URI: "book://1", Name: "one"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "book://1", Text: "It begins."}}}, nil
	})
	return Server{Name: "library", Handler: s}
}

func TestTheModelHasNothingOfAServerThatIsOff(t *testing.T) {
	t.Parallel()
	s := play(t, Options{Servers: []Server{calculator(), books()}},
		scripted.Call("library__find", `{}`), scripted.Call("read_resource", `{"server":"library","uri":"book://1"}`), scripted.Say("nothing"), scripted.Say("again"), scripted.Say("back"))
	c := s.Conversation(nil)
	if err := errors.Join(s.Settle(t.Context()), c.SetOff("library", true), c.SetOff("library", true)); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "find a book")
	if len(s.desk.reviews) != 0 {
		t.Errorf("it is reviewed: %+v", s.desk.reviews)
	}
	requests := s.model.Requests()
	if names := namesOf(requests[0].Tools); slices.Contains(names, "library__find") || !slices.Contains(names, "calc__add") || strings.Contains(requests[0].System, "Books are here") {
		t.Errorf("the model has %v and reads\n%s", names, requests[0].System)
	}
	for i, want := range []string{"There is no tool", "is switched off in this conversation"} {
		if got := requests[i+1].Messages[2*i+2].Parts[0].Result.Text(); !strings.Contains(got, want) {
			t.Errorf("call %d: %s", i+1, got)
		}
	}
	servers, tools := c.Servers(), c.Tools()
	if l := servers[1]; !l.Off || l.Seen != 0 || l.Tools != 1 || servers[0].Off || servers[0].Seen != 2 || !servers[0].Trusted {
		t.Errorf("the servers are %+v", servers)
	}
	if last := tools[len(tools)-1]; last.State != ToolOff || tools[0].State != ToolSent {
		t.Errorf("the tools are %+v", tools)
	}
	for _, p := range c.WindowUse().Parts {
		if p.Name == "library" {
			t.Errorf("it takes %d tokens", p.Tokens)
		}
	}

	// Whoever goes on with the record has it off, too; another conversation has it.
	resumed := s.Conversation(nil, c.Entries()...)
	ask(t, resumed, "still off?")
	if slices.Contains(namesOf(s.last(t).Tools), "library__find") || s.Conversation(nil).Servers()[1].Off {
		t.Errorf("the servers are %+v, those of another conversation %+v", resumed.Servers(), s.Conversation(nil).Servers())
	}
	if err := resumed.SetOff("library", false); err != nil {
		t.Fatal(err)
	}
	ask(t, resumed, "and now?")
	if last := s.last(t); len(s.desk.reviews) != 1 || !slices.Contains(namesOf(last.Tools), "library__find") || !strings.Contains(last.System, "Books are here") {
		t.Errorf("on again, the model has %v after %d reviews", namesOf(last.Tools), len(s.desk.reviews))
	}
	if err := c.SetOff("none", true); err == nil || !strings.Contains(err.Error(), `no server "none"`) {
		t.Errorf("a server that is not there: %v", err)
	}
}

// What has resources only is not off because another server is.
func TestAServerThatIsOffTakesNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	bare := mcp.NewServer("bare", "1")
	bare.AddResource(mcp.Resource{URI: "x://1", Name: "one"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x://1", Text: "Here I am."}}}, nil
	})
	s := play(t, Options{Servers: []Server{calculator(), {Name: "bare", Handler: bare, Trusted: true}}}, scripted.Call("read_resource", `{"uri":"x://1"}`), scripted.Say("done"))
	c := s.Conversation(nil)
	if err := errors.Join(s.Settle(t.Context()), c.SetOff("calc", true)); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "read it")
	if got := s.results(t)[0].Text(); !strings.Contains(got, "Here I am.") {
		t.Errorf("got %s", got)
	}
}

func TestARestartedServerIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := books()
		srv.Stderr = func() []string { return []string{"ready"} }
		inner, connected := srv.Handler, make(chan struct{}, 1)
		connected <- struct{}{}
		var starts atomic.Int32
		o := behind(t, srv, func(ctx context.Context) (*mcp.Client, error) {
			starts.Add(1)
			select {
			case <-connected:
				return mcp.NewClientWith(inner, mcp.ClientOptions{Name: "library"}), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
		o.Servers = append([]Server{calculator()}, o.Servers...)
		s := play(t, o)
		defer s.Close()
		if err := s.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart("library"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if n := starts.Load(); n != 2 {
			t.Errorf("it was started %d times", n)
		}
		if l := s.Servers()[1]; l.State != StateConnecting || l.Tools != 0 {
			t.Errorf("meanwhile it is %+v", l)
		}
		connected <- struct{}{}
		time.Sleep(5 * time.Second)
		if l := s.Servers()[1]; l.State != StateUnapproved || l.Tools != 1 || len(s.notices(NoticeServer)) != 0 {
			t.Errorf("afterwards it is %+v; notices: %q", l, s.notices(NoticeServer))
		}
		for name, want := range map[string]string{"calc": "part of the program", "none": "no server"} {
			if err := s.Restart(name); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := s.Stderr("library"); !slices.Equal(got, []string{"ready"}) || s.Stderr("calc") != nil {
			t.Errorf("its standard error is %q", got)
		}
	})
}

func TestAServerThatTakesItsTimeToConnectHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := books()
		inner := srv.Handler
		s := play(t, behind(t, srv, func(ctx context.Context) (*mcp.Client, error) {
			wait(ctx, 3*time.Second)
			return mcp.NewClientWith(inner, mcp.ClientOptions{Name: "library"}), nil
		}))
		defer s.Close()
		time.Sleep(2 * time.Second)
		if l := s.Servers()[0]; l.State != StateConnecting {
			t.Errorf("it is %+v", l)
		}
		time.Sleep(3 * time.Second)
		if l := s.Servers()[0]; l.Tools != 1 || len(s.notices(NoticeServer)) != 0 {
			t.Errorf("it is %+v; notices: %q", l, s.notices(NoticeServer))
		}
	})
}

func TestARefusedAuthorizationHasARemedy(t *testing.T) {
	refused := func(status int, header ...string) error {
		return fmt.Errorf("server %q: %w", "web", &mcp.StatusError{Status: status, Header: http.Header{"Www-Authenticate": header}, Method: "POST", URL: "https://web.example/mcp"})
	}
	for _, test := range []struct {
		err  error
		want []string
	}{
		{refused(401, `Bearer resource_metadata="https://web.example/.well-known/oauth-protected-resource"`), []string{`"Authorization": "Bearer …"`, "--header", "start again", "described at https://web.example/.well-known/oauth-protected-resource"}},
		{refused(401, `Bearer resource_metadata="javascript:alert(1)"`), []string{"needs a token: get one"}},
		{refused(403), []string{"your token does not allow this"}},
		{refused(500), nil},
		{errors.New("status 401"), nil},
	} {
		got := remedy(test.err)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q lacks %q", test.err, got, want)
			}
		}
		if test.want == nil && got != "" || strings.Contains(got, "javascript") {
			t.Errorf("%v: %q", test.err, got)
		}
	}
	s := play(t, behind(t, books(), func(context.Context) (*mcp.Client, error) { return nil, refused(401) }))
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := s.Servers()[0]; l.Error != "POST https://web.example/mcp: HTTP status 401" && !strings.Contains(l.Error, "401") || l.Remedy == "" {
		t.Errorf("it is %+v", l)
	}
}
