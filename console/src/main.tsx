import '@mantine/core/styles.css'
import './console.css'
import { MantineProvider } from '@mantine/core'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { Boundary } from './components/boundary.tsx'
import { theme } from './theme.ts'

/** Lets Mantine insert style elements under the content security policy of this page. */
const styleNonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''

const root = document.getElementById('root')
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
        <Boundary>
          <App />
        </Boundary>
      </MantineProvider>
    </StrictMode>,
  )
}
