package everything

import (
	"context"
	"errors"
	"strings"

	"github.com/junction-mcp/junction/mcp"
)

type echoInput struct {
	Message string `json:"message" doc:"The text to send back." example:"hello"`
}

type addInput struct {
	A float64 `json:"a" doc:"First number."`
	B float64 `json:"b" doc:"Second number."`
}

type addOutput struct {
	Sum float64 `json:"sum" doc:"a plus b."`
}

type primesInput struct {
	Below int `json:"below,omitempty" doc:"List the primes smaller than this." min:"0" max:"10000" default:"30"`
}

type bigTextInput struct {
	Size int `json:"size,omitempty" doc:"How many bytes of text to return." min:"1" max:"4194304" default:"65536"`
}

type pickInput struct {
	Region string `json:"region" doc:"Where to look: HTTP clients repeat this argument in the header Mcp-Param-Region." enum:"eu,us,asia" header:"Region"`
	Item   string `json:"item,omitempty" doc:"What to look for." default:"anything"`
}

type deleteInput struct {
	Name string `json:"name" doc:"What to pretend to delete." min:"1" max:"100"`
}

// addPlainTools registers tools that take arguments and return text or data.
func addPlainTools(s *mcp.Server) {
	mcp.AddToolWith(s, mcp.Tool{Name: "echo",
		Title: "Echo", Description: "Return the message unchanged.", Annotations: readOnly(), Icons: icons(),
	}, func(_ context.Context, in echoInput) (string, error) { return in.Message, nil })
	mcp.AddToolWith(s, look("add", "Add two numbers", "Add two numbers. The sum comes as structured content and as text."), func(_ context.Context, in addInput) (addOutput, error) { return addOutput{in.A + in.B}, nil })
	mcp.AddToolWith(s, look("list-primes", "List prime numbers", "List prime numbers. The structured content is a list, not an object."), listPrimes)
	mcp.AddToolWith(s, look("get-nothing", "Nothing", "Succeed with an empty result: no content at all."), func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	mcp.AddToolWith(s, look("big-text", "Big text", "Return a large text, to see how a client copes with it."), bigText)
	mcp.AddToolWith(s, look("pick", "Argument in a header", "Take an argument that HTTP clients repeat in a header, so that proxies can route by it."), func(_ context.Context, in pickInput) (string, error) {
		return "Found " + in.Item + " in region " + in.Region + ".", nil
	})
	mcp.AddToolWith(s, look("fail", "Fail", "Fail always, with an error that the model can read."), func(context.Context, struct{}) (string, error) {
		return "", errors.New("this tool always fails; there is nothing to mend")
	})
	mcp.AddToolWith(s, mcp.Tool{Name: "delete",
		Title: "Delete (pretends)", Description: "Claim to be destructive and to reach other systems, to test the client's reaction. Nothing is deleted.",
		Annotations: &mcp.ToolAnnotations{
			Title: "Delete something", ReadOnlyHint: new(false), DestructiveHint: new(true), IdempotentHint: new(true), OpenWorldHint: new(true),
		},
	}, func(_ context.Context, in deleteInput) (string, error) {
		return "Pretended to delete " + in.Name + ".", nil
	})
}

func listPrimes(_ context.Context, in primesInput) ([]int, error) {
	primes := []int{}
next:
	for n := 2; n < in.Below; n++ {
		for _, p := range primes {
			if p*p > n {
				break
			}
			if n%p == 0 {
				continue next
			}
		}
		primes = append(primes, n)
	}
	return primes, nil
}

func bigText(_ context.Context, in bigTextInput) (string, error) {
	const line = "The quick brown fox jumps over the lazy dog, and nobody minds.\n"
	return strings.Repeat(line, in.Size/len(line)+1)[:in.Size], nil
}
