package mcp_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
)

func ExampleError() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddTool(s, "delete", func(context.Context, struct{}) (string, error) {
			return "", mcp.Errorf(mcp.CodeInvalidRequest, "the store is read-only")
		})
	})
	defer c.Close()
	_, err := c.CallTool(ctx, "delete", nil)
	var fault *mcp.Error
	fmt.Println(errors.As(err, &fault), fault.Code, fault.Message)
	fmt.Println(errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidRequest}), errors.Is(err, mcp.ErrBusy))
	// Output:
	// true -32600 the store is read-only
	// true false
}

// A tool that cannot take a call now says so, and the client knows that it may call again.
func ExampleError_busy() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddTool(s, "render", func(context.Context, struct{}) (string, error) {
			return "", fmt.Errorf("all printers are busy: %w", mcp.ErrBusy)
		})
	})
	defer c.Close()
	_, err := c.CallTool(ctx, "render", nil)
	fmt.Println(errors.Is(err, mcp.ErrBusy))
	// Output: true
}

func ExampleToolFailure() {
	ctx, c := client(func(s *mcp.Server) { mcp.AddTool(s, "forecast", forecast) })
	defer c.Close()
	_, err := mcp.Call[outlook](ctx, c, "forecast", trip{City: "Atlantis", Days: 1})
	var failure *mcp.ToolFailure
	if errors.As(err, &failure) {
		fmt.Println(failure.Tool, "failed:", failure.Result.Text())
	}
	// Output: forecast failed: there is no weather in Atlantis
}

func ExampleElicitationRequiredError() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddTool(s, "inbox", func(context.Context, struct{}) (string, error) {
			return "", &mcp.ElicitationRequiredError{Message: "log in first", Elicitations: []mcp.ElicitRequest{
				{Message: "Log in to the mail server", URL: "https://mail.example/login", ElicitationID: "1"},
			}}
		})
	})
	defer c.Close()
	result, _ := c.CallTool(ctx, "inbox", nil) // this client cannot show pages
	fmt.Println(result.IsError, result.Text())
	// Output: true log in first: visit https://mail.example/login, then call again
}

func ExamplePrivateError() {
	err := &mcp.PrivateError{Public: "the database does not respond", Private: " at 10.0.0.7:5432", Err: context.DeadlineExceeded}
	fmt.Println(mcp.RedactError(err))
	// Output: the server failed; the database does not respond
}

func ExampleScopeError() {
	user := &mcp.Principal{Subject: "ada", Scopes: []string{"read"}}
	if missing := user.Lacks([]string{"read", "write"}); missing != nil {
		err := &mcp.ScopeError{Needs: []string{"read", "write"}}
		fmt.Println(missing, err)
	}
	// Output: [write] this needs the scopes ["read" "write"], and your credentials do not have all of them
}

func ExampleRevisionError() {
	_, c := client(func(*mcp.Server) {})
	defer c.Close()
	old := mcp.NewClientWith(mcp.NewServer("example", "1.0"), mcp.ClientOptions{Revision: "2024-11-05"})
	defer old.Close()
	err := old.Ping(context.Background())
	var refused *mcp.RevisionError
	fmt.Println(c.Ping(context.Background()), errors.As(err, &refused), refused.Revision)
	// Output: <nil> true 2024-11-05
}

func ExampleOutcome() {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", forecast)
	for _, city := range []string{"Oslo", "Atlantis"} {
		ctx := context.Background()
		req := mcp.NewRequest("tools/call", []byte(`{"name":"forecast","arguments":{"city":"`+city+`"}}`))
		result, err := s.Handle(ctx, req)
		fmt.Println(city, mcp.OutcomeOf(ctx, &result, err))
	}
	// Output:
	// Oslo ok
	// Atlantis tool_error
}

func ExamplePrincipal() {
	ada := &mcp.Principal{Issuer: "https://login.example", Subject: "ada", ClientID: "desk", Scopes: []string{"write", "read"}}
	phone := &mcp.Principal{Issuer: "https://login.example", Subject: "ada", ClientID: "phone"}
	fmt.Println(ada.IsOf(phone), ada.Key().Scopes, phone.Lacks([]string{"read"}))
	// Output: false read write [read]
}

func ExampleOwnership() {
	ctx := context.Background()
	ada, bob := &mcp.Principal{Subject: "ada"}, &mcp.Principal{Subject: "bob"}
	req := mcp.NewRequest("tools/call", []byte(`{"name":"report"}`))
	req.Principal = ada
	grant := mcp.OwnershipOf(ctx, req) // stored with the report
	fmt.Println(grant.Allows(ctx, ada), errors.Is(grant.Allows(ctx, bob), mcp.ErrNotOwner))
	// Output: <nil> true
}

func ExamplePrincipalKey() {
	holders := map[mcp.PrincipalKey]int{}
	for _, scopes := range [][]string{{"a", "b"}, {"b", "a"}} {
		holders[(&mcp.Principal{Subject: "ada", Scopes: scopes}).Key()]++
	}
	fmt.Println(len(holders))
	// Output: 1
}
