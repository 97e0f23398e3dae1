import { defineConfig } from "vitest/config"
import { conditions } from "./vitest.workspace.ts"

// Needs a Chromium on the machine, which `npm test` does without.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { include: ["packages/conformance/browser/**/*.browser.test.ts"], fileParallelism: false }
})
