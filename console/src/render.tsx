import '@mantine/core/styles.css'
import './console.css'
import { MantineProvider } from '@mantine/core'
import { type ReactNode, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Boundary } from './components/boundary.tsx'
import { theme } from './theme.ts'

/** Lets Mantine insert style elements under the content security policy of this page. */
const styleNonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''

export function render(page: ReactNode): void {
  const root = document.getElementById('root')
  if (root === null) return
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
        <Boundary>{page}</Boundary>
      </MantineProvider>
    </StrictMode>,
  )
}
