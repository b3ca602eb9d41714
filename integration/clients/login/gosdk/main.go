// Command gosdk is a client on the official Go SDK that logs in; see ../login.mjs for what it does and prints.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

func main() {
	log.SetFlags(0)
	var arguments map[string]any
	if err := json.Unmarshal([]byte(os.Args[3]), &arguments); err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], arguments); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, tool string, arguments map[string]any) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	came := make(chan *auth.AuthorizationResult, 1)
	go http.Serve(listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		came <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}
	}))
	logins := 0
	tokens := &renewing{}
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go SDK", RedirectURIs: []string{fmt.Sprintf("http://%s/callback", listener.Addr())},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			logins++
			fmt.Println("open " + args.URL)
			select {
			case result := <-came:
				return result, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		NewTokenSource: func(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			tokens.source = func(t *oauth2.Token) (*oauth2.Token, error) { return config.TokenSource(ctx, t).Token() }
			tokens.token = token
			return tokens, nil
		},
	})
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "login-gosdk", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, OAuthHandler: handler}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	var texts [2]string
	for i := range texts {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return err
		}
		texts[i] = result.Content[0].(*mcp.TextContent).Text
		tokens.expire()
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"tools": len(list.Tools), "first": texts[0], "second": texts[1], "logins": logins, "refreshed": tokens.renewed})
}

// renewing is a token that is renewed by the SDK when it expires.
type renewing struct {
	mu      sync.Mutex
	source  func(*oauth2.Token) (*oauth2.Token, error)
	token   *oauth2.Token
	expired bool
	renewed int
}

// expire makes the next request renew the token.
func (r *renewing) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expired = true
}

// Token implements [oauth2.TokenSource].
func (r *renewing) Token() (*oauth2.Token, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expired {
		old := *r.token
		old.Expiry = time.Now().Add(-time.Minute)
		token, err := r.source(&old)
		if err != nil {
			return nil, err
		}
		r.token, r.expired = token, false
		r.renewed++
	}
	return r.token, nil
}
