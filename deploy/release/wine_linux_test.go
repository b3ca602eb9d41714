package main

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// checkWindows runs the program for Windows in Wine: it prints its version, lists the servers that
// ship with Junction, and calls a tool.
func checkWindows(t *testing.T, folder string) {
	wine, err := exec.LookPath("wine")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("wine is not installed")
	}
	to, prefix := t.TempDir(), filepath.Join(t.TempDir(), "wine")
	unzip(t, to, one(t, folder, "junction_*_windows_amd64.zip"))
	env := append(os.Environ(), "WINEPREFIX="+prefix, "WINEDEBUG=-all", "HOME="+t.TempDir())
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), wine, args...)
		cmd.Env, cmd.Dir, cmd.Stderr = env, to, t.Output()
		out, err := cmd.Output()
		return strings.ReplaceAll(string(out), "\r\n", "\n"), err
	}
	if out, err := run("wineboot", "--init"); err != nil {
		t.Fatalf("wineboot: %v: %s", err, out)
	}
	defer run("wineboot", "--kill")
	system := filepath.Join(prefix, "drive_c", "windows", "system32")
	random := filepath.Join(system, "bcryptprimitives.dll")
	if _, err := os.Stat(random); err != nil {
		must(t, os.WriteFile(random, forwarding(t, "bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036"), 0o644))
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "windows/amd64)"},
		{[]string{"list"}, "everything  (ships with junction"},
		{[]string{"call", "everything", "echo", "message=hello"}, "hello\n"},
	} {
		out, err := run(append([]string{filepath.Join(to, "junction.exe")}, test.args...)...)
		if err != nil || !strings.Contains(out, test.want) {
			t.Errorf("junction.exe %s: %v: %s", strings.Join(test.args, " "), err, out)
		}
	}
}

// forwarding returns a library for Windows whose only function is that of another library. Go needs
// ProcessPrng, which Wine has from release 9 on, and which works like the function of an older
// library.
func forwarding(t *testing.T, library, function, to string) []byte {
	t.Helper()
	const at, headers = 0x1000, 0x200 // address of the section; size of all headers, also in the file
	texts := []string{library, function, to}
	address := make([]uint32, len(texts))
	const table = 40 + 4 + 4 + 2 // the directory, and its tables of one function
	var all []byte
	for i, text := range texts {
		address[i] = at + table + uint32(len(all))
		all = append(append(all, text...), 0)
	}
	var b bytes.Buffer
	write := func(values ...any) {
		for _, v := range values {
			must(t, binary.Write(&b, binary.LittleEndian, v))
		}
	}
	dos := make([]byte, 64)
	copy(dos, "MZ")
	dos[60] = 64
	optional := pe.OptionalHeader64{
		Magic: 0x20b, ImageBase: 0x180000000, SectionAlignment: 0x1000, FileAlignment: headers, MajorOperatingSystemVersion: 6, MajorSubsystemVersion: 6,
		SizeOfImage: 2 * at, SizeOfHeaders: headers, Subsystem: pe.IMAGE_SUBSYSTEM_WINDOWS_CUI, DllCharacteristics: pe.IMAGE_DLLCHARACTERISTICS_NX_COMPAT, NumberOfRvaAndSizes: 16,
	}
	optional.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_EXPORT] = pe.DataDirectory{VirtualAddress: at, Size: table + uint32(len(all))}
	write(dos, []byte("PE\x00\x00"),
		pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: 1, SizeOfOptionalHeader: uint16(binary.Size(optional)), Characteristics: pe.IMAGE_FILE_EXECUTABLE_IMAGE | pe.IMAGE_FILE_LARGE_ADDRESS_AWARE | pe.IMAGE_FILE_DLL},
		optional,
		pe.SectionHeader32{Name: [8]byte{'.', 'r', 'd', 'a', 't', 'a'}, VirtualSize: table + uint32(len(all)), VirtualAddress: at, SizeOfRawData: headers, PointerToRawData: headers, Characteristics: pe.IMAGE_SCN_CNT_INITIALIZED_DATA | pe.IMAGE_SCN_MEM_READ})
	write(make([]byte, headers-b.Len()))
	write([]uint32{0, 0, 0, address[0], 1, 1, 1, at + 40, at + 44, at + 48, address[2], address[1]}, uint16(0), all)
	write(make([]byte, 2*headers-b.Len()))
	return b.Bytes()
}
