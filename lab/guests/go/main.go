// A guest of Larder: opens one of Go's caches, runs a plan on it, times itself. docs/guests.md describes the commands and
// answers.
package main

import (
	"fmt"
	"os"

	"larder/guests/go/caches"
	"larder/guests/go/measure"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: larder-go FOLDER, with commands on standard input")
		os.Exit(2)
	}
	// Standard output carries answers and nothing else, so the output of libraries goes to standard error.
	answers := os.Stdout
	os.Stdout = os.Stderr
	protocol := measure.NewProtocol(os.Stdin, answers)
	guest, err := measure.OpenGuest(protocol, os.Args[1], caches.Open)
	if err == nil && guest != nil {
		err = guest.Serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "larder-go:", err)
		os.Exit(1)
	}
}
