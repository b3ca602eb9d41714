package chat

import (
	"fmt"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/toolsearch"
	"github.com/junction-mcp/junction/toolsearch/embeddings"
	"github.com/spf13/pflag"
)

// searchFlags holds the flags of tool search.
type searchFlags struct {
	url    string
	model  string
	keyEnv string
}

// define defines the flags in a flag set.
func (f *searchFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "embeddings", "", "find tools by meaning, too, with vectors from `URL`, a server with OpenAI's embeddings API")
	flags.StringVar(&f.model, "embeddings-model", "", "use the embeddings model `NAME` there")
	flags.StringVar(&f.keyEnv, "embeddings-key-env", "", "take the key for --embeddings from the environment variable `NAME`")
}

// Open returns a new index of tools.
func (f *searchFlags) Open(p place.Place) (*toolsearch.Index, error) {
	if f.url == "" {
		if f.model+f.keyEnv != "" {
			return nil, cli.Usagef("--embeddings-model and --embeddings-key-env need --embeddings")
		}
		return toolsearch.New(toolsearch.Options{}), nil
	}
	o := embeddings.Options{BaseURL: f.url, Model: f.model}
	if f.keyEnv != "" {
		if o.Key = p.Getenv(f.keyEnv); o.Key == "" {
			return nil, fmt.Errorf("--embeddings-key-env: set the environment variable %s, which is empty", f.keyEnv)
		}
	}
	client, err := embeddings.New(o)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return toolsearch.New(toolsearch.Options{Embedder: client}), nil
}
