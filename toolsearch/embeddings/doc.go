// Package embeddings is a toolsearch.Embedder over HTTP. It posts texts to {base}/embeddings in the
// form of OpenAI, which vLLM, llama.cpp, Ollama, LM Studio, text-embeddings-inference and most
// vendors support.
//
// A Client sends one request for each batch of texts, follows no redirects (the key is for one
// address), and reads at most 16 MiB of a response. Its errors have neither the key nor the texts.
// It does not retry: an Index continues with words and calls it again later.
package embeddings
