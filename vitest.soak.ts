import { defineConfig } from "vitest/config"
import { conditions } from "./vitest.workspace.ts"

// Takes minutes, and looks at the heap of the process that it runs in.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { include: ["packages/conformance/soak/**/*.soak.test.ts"], execArgv: ["--expose-gc"], fileParallelism: false }
})
