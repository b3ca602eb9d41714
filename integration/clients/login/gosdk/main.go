// Command gosdk is a client with the official Go SDK that logs in. ../login.mjs describes its
// actions and its output.
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
	if err := json.Unmarshal([]byte(os.Args[2]), &arguments); err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), os.Args[1], arguments, os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, arguments map[string]any, calls []string) error {
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
	tokens := &counted{}
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
			tokens.source, tokens.last = config.TokenSource(ctx, token), token
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
	var said []string
	for i, tool := range calls {
		if i == 1 {
			time.Sleep(tokens.lasts() + time.Second)
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
		said = append(said, result.Content[0].(*mcp.TextContent).Text)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"tools": len(list.Tools), "said": said, "logins": logins, "refreshed": tokens.renewed})
}

// counted is a source of tokens that counts new tokens.
type counted struct {
	mu      sync.Mutex
	source  oauth2.TokenSource
	last    *oauth2.Token
	renewed int
}

// lasts returns the remaining lifetime of the last token.
func (c *counted) lasts() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.last.Expiry)
}

// Token implements [oauth2.TokenSource].
func (c *counted) Token() (*oauth2.Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	token, err := c.source.Token()
	if err != nil {
		return nil, err
	}
	if token.AccessToken != c.last.AccessToken {
		c.last = token
		c.renewed++
	}
	return token, nil
}
