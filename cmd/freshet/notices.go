package main

import (
	_ "embed"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// notices are the licences of what is linked into the program. TestNotices holds them to go.mod.
//
//go:embed notices.txt
var notices string

// A billOfMaterials lists what is linked into the program, in the CycloneDX format.
type billOfMaterials struct {
	BOMFormat   string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    bomMetadata `json:"metadata"`
	Components  []component `json:"components"`
}

type bomMetadata struct {
	Component component `json:"component"`
}

// A component is a module, or the program itself.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PackageURL string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// billOf returns the bill of materials of a build, as the linker wrote it into the binary.
func billOf(b build, info *debug.BuildInfo) billOfMaterials {
	bill := billOfMaterials{BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1, Components: []component{}}
	bill.Metadata.Component = componentOf("application", "freshet", b.Version)
	bill.Components = append(bill.Components, componentOf("library", "std", strings.TrimPrefix(b.Go, "go")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := componentOf("library", m.Path, m.Version)
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		bill.Components = append(bill.Components, c)
	}
	slices.SortFunc(bill.Components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return bill
}

func componentOf(kind, name, version string) component {
	ref := "pkg:golang/" + name + "@" + url.PathEscape(version)
	return component{Type: kind, Ref: ref, Name: name, Version: version, PackageURL: ref}
}
