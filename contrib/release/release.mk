# "make release VERSION=v1.2.3" makes bin/release: programs, packages, images, sums. The time of
# every file is that of the commit, so the same commit makes the same bytes.
#
# The tools are those of contrib/release/tools/go.mod, apart from what Freshet itself needs.

OUT       ?= bin/release
WORK      ?= bin/release-work
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64 freebsd/arm64
LINUX     := $(filter linux/%,$(PLATFORMS))
NUMBER    := $(patsubst v%,%,$(VERSION))
# The image with Chromium is for the architecture of this machine, on packages of this Debian.
HERE      := $(filter linux/$(shell $(GO) env GOHOSTARCH),$(PLATFORMS))
DEBIAN    ?= trixie
BASE      ?= $(WORK)/debian.tar
TOOL      := $(GO) -C contrib/release/tools

release archive-% packages-% image-%: export CGO_ENABLED := 0
release archive-% packages-% image-%: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)

# Parts of a platform such as linux/arm64, and the name of its program.
os      = $(firstword $(subst /, ,$1))
arch    = $(lastword $(subst /, ,$1))
program = $(WORK)/$(call os,$1)_$(call arch,$1)/freshet$(if $(filter windows,$(call os,$1)),.exe)
label   = freshet_$(NUMBER)_$(call os,$1)_$(call arch,$1)
tar     = tar --sort=name --mtime=@$$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner

.PHONY: release
release: ## make programs, packages, images and their sums of VERSION in bin/release
release: $(foreach p,$(PLATFORMS),archive-$(call os,$p)-$(call arch,$p)) $(foreach p,$(LINUX),packages-$(call arch,$p) image-$(call arch,$p)) $(HERE:%=image-chromium) $(OUT)/freshet_$(NUMBER).spdx.json
	cd $(OUT) && sha256sum freshet_* > SHA256SUMS
	@ls -l $(OUT)

# What the program says of itself is taken from one that runs here.
$(WORK)/share: FORCE
	rm -rf $(OUT) $@ && mkdir -p $(OUT) $@/completion $@/doc
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(WORK)/freshet ./cmd/freshet
	$(WORK)/freshet man $@/man
	for page in $@/man/*.1; do gzip -n -9 $$page; done
	for shell in bash zsh fish; do $(WORK)/freshet completion $$shell > $@/completion/freshet.$$shell || exit 1; done
	cp LICENSE $@/doc/copyright
	cp -R CHANGELOG.md README.md docs contrib/prometheus/alerts.yaml $@/doc && find $@/doc/docs -name "*.go" -delete
	$(WORK)/freshet version --licenses > $@/doc/notices
	$(WORK)/freshet version --sbom > $@/doc/freshet.spdx.json

$(OUT)/freshet_$(NUMBER).spdx.json: $(WORK)/share
	cp $</doc/freshet.spdx.json $@

define platform
$(call program,$1): FORCE
	GOOS=$(call os,$1) GOARCH=$(call arch,$1) $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $$@ ./cmd/freshet

.PHONY: archive-$(call os,$1)-$(call arch,$1)
archive-$(call os,$1)-$(call arch,$1): $(call program,$1) $(WORK)/share
	rm -rf $(WORK)/$(call label,$1) && cp -R $(WORK)/share $(WORK)/$(call label,$1)
	cp $$< $(WORK)/$(call label,$1)/
	$$(tar) -C $(WORK) -c $(call label,$1) | gzip -n -9 > $(OUT)/$(call label,$1).tar.gz
endef
$(foreach p,$(PLATFORMS),$(eval $(call platform,$p)))

define linux
.PHONY: packages-$(call arch,$1)
packages-$(call arch,$1): $(call program,$1) $(WORK)/share
	for kind in deb rpm; do ARCH=$(call arch,$1) VERSION=$(NUMBER) PROGRAM=$$< SHARE=$(WORK)/share \
	  $(WORK)/nfpm package -f contrib/package/nfpm.yaml -p $$$$kind -t $(OUT)/$(call label,$1).$$$$kind || exit 1; done
packages-$(call arch,$1): $(WORK)/nfpm

.PHONY: image-$(call arch,$1)
image-$(call arch,$1): $(call program,$1) $(WORK)/share $(WORK)/image
	$(WORK)/image -program $$< -arch $(call arch,$1) -certificates $(CERTS) -notices $(WORK)/share/doc/notices \
	  -version $(NUMBER) -time $$$$SOURCE_DATE_EPOCH -out $(OUT)/$(call label,$1).oci.tar
endef
$(foreach p,$(LINUX),$(eval $(call linux,$p)))

.DELETE_ON_ERROR:

.PHONY: image-chromium
image-chromium: $(call program,$(HERE)) $(WORK)/share $(WORK)/image $(BASE)
	$(WORK)/image -program $< -arch $(call arch,$(HERE)) -certificates $(CERTS) -notices $(WORK)/share/doc/notices -base $(BASE) \
	  -version $(NUMBER)-chromium -time $$SOURCE_DATE_EPOCH -out $(OUT)/$(call label,$(HERE))_chromium.oci.tar

# Headless Chromium loads no drivers of graphics cards.
$(BASE):
	mmdebstrap --quiet --variant=essential --include=chromium,fonts-dejavu-core --aptopt='APT::Install-Recommends "false"' \
	  $(foreach path,doc/* locale/* man/*,--dpkgopt='path-exclude=/usr/share/$(path)') --dpkgopt='path-include=/usr/share/doc/*/copyright' \
	  $(foreach name,libLLVM libgallium libz3,--dpkgopt='path-exclude=/usr/lib/*/$(name)*') $(DEBIAN) $@

$(WORK)/nfpm:
	$(TOOL) build -o $(abspath $@) github.com/goreleaser/nfpm/v2/cmd/nfpm

$(WORK)/image: contrib/release/image/main.go
	$(GO) build -o $@ ./contrib/release/image

.PHONY: test-release
test-release: ## install, run, upgrade and remove the packages on Debian, run the images, check the chart, and build twice (as root; needs mmdebstrap, umoci and runc)
	FRESHET_TEST=long $(GO) test -count=1 -timeout 60m ./contrib/release

.PHONY: lint-workflows
lint-workflows: ## check the workflows of GitHub
	$(TOOL) build -o $(abspath $(WORK)/actionlint) github.com/rhysd/actionlint/cmd/actionlint
	$(WORK)/actionlint .github/workflows/*.yml

.PHONY: FORCE
FORCE:
