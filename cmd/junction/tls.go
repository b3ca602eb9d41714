package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/pflag"
)

// certificatePause is the time between two looks whether a certificate's file changed.
const certificatePause = time.Second

// A security says how an address is encrypted, and who may connect to it.
type security struct {
	cert, key string // files; empty: nothing is encrypted
	clientCA  string // a file of those who sign certificates of clients; empty: clients need none
}

func (s *security) flags(flags *pflag.FlagSet) {
	flags.StringVar(&s.cert, "tls-cert", "", "with --http: serve https with the certificate (and those that signed it) in `FILE`, PEM; it is read again when it changes")
	flags.StringVar(&s.key, "tls-key", "", "the key of --tls-cert, in `FILE`, PEM")
	flags.StringVar(&s.clientCA, "tls-client-ca", "", "let only clients connect whose certificate an authority in `FILE` signed, PEM; its common name is who they are")
}

// check says what is wrong with the flags.
func (s *security) check() error {
	switch {
	case (s.cert == "") != (s.key == ""):
		return usagef("--tls-cert and --tls-key go together")
	case s.clientCA != "" && s.cert == "":
		return usagef("--tls-client-ca goes with --tls-cert and --tls-key")
	}
	return nil
}

// listen encrypts what goes over a listener, if that is wanted.
func (s *security) listen(l net.Listener, log *slog.Logger) (net.Listener, error) {
	if s.cert == "" {
		return l, nil
	}
	c := &certificate{security: *s, log: log}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	config := &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if s.clientCA != "" {
		text, err := os.ReadFile(s.clientCA)
		if err != nil {
			return nil, fmt.Errorf("--tls-client-ca: %w", err)
		}
		if config.ClientCAs = x509.NewCertPool(); !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--tls-client-ca: %s holds no certificate in PEM", s.clientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return &encrypted{tls.NewListener(l, config)}, nil
}

// An encrypted listener accepts TLS.
type encrypted struct{ net.Listener }

// A certificate is read again when its file changed.
type certificate struct {
	security

	log *slog.Logger

	mu     sync.Mutex
	looked time.Time
	fault  string // why the files cannot be used now, as it was logged; empty if they can
	stamp  string // of the files that were read
	now    *tls.Certificate
}

// get is the certificate for a new connection. One that cannot be read leaves the one before.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && time.Since(c.looked) < certificatePause {
		return c.now, nil
	}
	c.looked = time.Now()
	stamp := ""
	for _, file := range []struct{ flag, path string }{{"--tls-cert", c.cert}, {"--tls-key", c.key}} {
		info, err := os.Stat(file.path)
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder", file.path)
		}
		if err != nil {
			return c.before(fmt.Errorf("%s: %w", file.flag, err))
		}
		stamp += fmt.Sprintln(info.ModTime().UnixNano(), info.Size())
	}
	if c.now != nil && stamp == c.stamp {
		c.fault = ""
		return c.now, nil
	}
	fresh, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil { // perhaps one of them is still being written
		return c.before(fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.cert, c.key, err))
	}
	c.now, c.stamp, c.fault = &fresh, stamp, ""
	return c.now, nil
}

func (c *certificate) before(err error) (*tls.Certificate, error) {
	if c.now == nil {
		return nil, err
	}
	if why := err.Error(); why != c.fault { // once, and not for each connection
		c.fault = why
		c.log.Error("junction: the new certificate cannot be used; the one before is", "error", err)
	}
	return c.now, nil
}

// certified is who a client is by its certificate.
func certified(r *http.Request) (*mcp.Principal, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil, errors.New("the client has no certificate")
	}
	c := r.TLS.VerifiedChains[0][0]
	name := c.Subject.CommonName
	if name == "" && len(c.DNSNames) > 0 {
		name = c.DNSNames[0]
	}
	if name == "" {
		return nil, errors.New("the client's certificate names nobody")
	}
	return &mcp.Principal{Subject: name, Issuer: c.Issuer.String()}, nil
}
