package archtest

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/types"
	"slices"
	"testing"
)

const lockSample = `package sample

import ("context"; "hash"; "os"; "sync"; "time")

type peer interface{ Notify() }

type t struct {
	mu   sync.Mutex
	n    int
	f    func()
	p    peer
	c    chan int
	wait sync.WaitGroup
	cond *sync.Cond
	stop context.CancelFunc
	hash hash.Hash
}

func (x *t) okShort()    { x.mu.Lock(); x.n++; x.mu.Unlock(); x.f(); x.p.Notify(); <-x.c }
func (x *t) okDefer()    { x.mu.Lock(); defer x.mu.Unlock(); x.n++; x.stop(); x.cond.Wait(); x.hash.Write(nil) }
func (x *t) okGo()       { x.mu.Lock(); defer x.mu.Unlock(); go x.f(); go func() { x.f() }(); x.wait.Go(func() { <-x.c }) }
func (x *t) okDefault()  { x.mu.Lock(); defer x.mu.Unlock(); select { case x.c <- 1: default: } }
func (x *t) okReturn()   { x.mu.Lock(); if x.n > 0 { x.mu.Unlock(); x.f(); return }; x.mu.Unlock(); x.f() }
func (x *t) okLiteral()  { x.mu.Lock(); defer x.mu.Unlock(); add := func() { x.n++ }; add() }
func (x *t) okLoop()     { x.mu.Lock(); for x.n > 0 { x.mu.Unlock(); x.f(); x.mu.Lock() }; x.mu.Unlock() }

func (x *t) badCallback() { x.mu.Lock(); x.f(); x.mu.Unlock() }
func (x *t) badDefer()    { x.mu.Lock(); defer x.mu.Unlock(); x.p.Notify() }
func (x *t) badParameter(f func()) { x.mu.Lock(); f(); x.mu.Unlock() }
func (x *t) badCopy()     { x.mu.Lock(); f := x.f; f(); x.mu.Unlock() }
func (x *t) badSend()     { x.mu.Lock(); x.c <- 1; x.mu.Unlock() }
func (x *t) badReceive()  { x.mu.Lock(); x.n = <-x.c; x.mu.Unlock() }
func (x *t) badSelect()   { x.mu.Lock(); select { case <-x.c: }; x.mu.Unlock() }
func (x *t) badRange()    { x.mu.Lock(); for range x.c { }; x.mu.Unlock() }
func (x *t) badWait()     { x.mu.Lock(); x.wait.Wait(); x.mu.Unlock() }
func (x *t) badSleep()    { x.mu.Lock(); time.Sleep(1); x.mu.Unlock() }
func (x *t) badIO(c *os.File) { x.mu.Lock(); c.Write(nil); x.mu.Unlock() }
func (x *t) badBranch()   { x.mu.Lock(); if x.n > 0 { x.mu.Unlock() }; x.f() }
func (x *t) badCall()     { x.mu.Lock(); x.outer(); x.mu.Unlock() }
func (x *t) badInGo()     { go func() { x.mu.Lock(); x.f(); x.mu.Unlock() }() }
func (x *t) badSwitch()   { x.mu.Lock(); switch x.n { case 1: x.f() }; x.mu.Unlock() }
func (x *t) badInit()     { x.mu.Lock(); if n := <-x.c; n > 0 { x.n = n }; x.mu.Unlock() }
func (x *t) outer()       { x.inner() }
func (x *t) inner()       { x.f() }
`

func TestHeldMutexesAreFound(t *testing.T) {
	file, err := parser.ParseFile(files, "sample.go", lockSample, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p := &loaded{files: []*ast.File{file}, info: newInfo()}
	config := types.Config{Importer: importer.ForCompiler(files, "source", nil)}
	if _, err := config.Check("sample", files, p.files, p.info); err != nil {
		t.Fatal(err)
	}
	p.findLiterals()
	found := findHeld([]*loaded{p})
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := "(*sample.t)." + f.Name.Name
		if want := f.Name.Name[:3] == "bad"; want != (found[name] != nil) {
			t.Errorf("%s: %q", f.Name.Name, slices.Clone(found[name]))
		}
	}
}
